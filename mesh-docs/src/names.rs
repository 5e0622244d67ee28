//! Unique ASCII names of entities, for documents that restrict the characters of names.

use std::collections::{HashMap, HashSet};

use mesh_schema::{Entity, EntityId, Schema};

/// A unique name of ASCII letters, digits, `-` and `_` for each visible entity. Names differ even in generated code, see
/// [`folded`].
pub(crate) struct Names<'s> {
    all: Vec<(&'s Entity, String)>,
    indexes: HashMap<EntityId, usize>,
}

impl<'s> Names<'s> {
    /// Names the entities of a schema. No name equals one of `reserved`. Each name is also the first part of names with one of
    /// `parts` after a dot.
    pub(crate) fn new(schema: &'s Schema, reserved: &[&str], parts: &[&str]) -> Self {
        let mut taken: HashSet<String> = reserved.iter().map(|name| folded(name)).collect();
        let mut take = |name: &str| {
            let all: Vec<_> = parts.iter().map(|part| folded(&format!("{name}.{part}"))).collect();
            let is_free = !taken.contains(&folded(name)) && all.iter().all(|part| !taken.contains(part));
            if is_free {
                taken.extend(all);
                taken.insert(folded(name));
            }
            is_free
        };
        let mut names = HashMap::new();
        // Keys that are names come first, so that as many as possible are kept.
        for (id, entity) in schema.entities() {
            let is_name = !entity.key.is_empty() && entity.key.chars().all(is_plain);
            if is_name && take(&entity.key) {
                names.insert(id, entity.key.clone());
            }
        }
        let (mut all, mut indexes) = (Vec::new(), HashMap::new());
        for (id, entity) in schema.entities() {
            let name = names.remove(&id).unwrap_or_else(|| {
                let plain = |letter: char| if is_plain(letter) { letter } else { '_' };
                let mut name: String = entity.key.chars().map(plain).collect();
                if folded(&name).is_empty() {
                    "entity".clone_into(&mut name);
                }
                let numbered = (2..).map(|number| format!("{name}_{number}"));
                let mut names = std::iter::once(name.clone()).chain(numbered);
                names.find(|name| take(name)).unwrap_or(name)
            });
            indexes.insert(id, indexes.len());
            all.push((entity, name));
        }
        Self { all, indexes }
    }

    /// Iterates over the entities with their names, in schema order.
    pub(crate) fn entities(&self) -> impl Iterator<Item = (&'s Entity, &str)> {
        self.all.iter().map(|(entity, name)| (*entity, name.as_str()))
    }

    /// Returns the name of a visible entity.
    pub(crate) fn get(&self, id: EntityId) -> &str {
        let found = self.indexes.get(&id).and_then(|index| self.all.get(*index));
        found.map_or("", |(_, name)| name)
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')
}

/// Returns what generators of code distinguish in a name: they change the case of letters and drop punctuation.
pub(crate) fn folded(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use mesh_schema::FieldType;

    use super::*;

    #[test]
    fn names_are_unique() {
        let mut builder = Schema::builder();
        let keys = [
            "post",
            "a b",
            "a-b",
            "größe",
            "a/b",
            "a_b",
            "gr__e",
            "Post",
            "postCreated",
            "mesh",
            "meshError",
            "日本",
            "***",
        ];
        for (index, key) in keys.into_iter().enumerate() {
            builder =
                builder.entity(key, |it| it.field("id", FieldType::Integer).table(&format!("t{index}")));
        }
        let schema = builder.build().unwrap();
        let names = Names::new(&schema, &["mesh", "mesh.error"], &["created"]);
        let all: Vec<_> = names.entities().map(|(_, name)| name).collect();
        assert_eq!(
            all,
            [
                "post",
                "a_b_2",
                "a-b",
                "gr__e_2",
                "a_b_3",
                "a_b_4",
                "gr__e",
                "Post_2",
                "postCreated_2",
                "mesh_2",
                "meshError_2",
                "entity",
                "entity_2"
            ]
        );
    }
}
