//! Unique ASCII names of entities, for documents that restrict the characters of names.

use std::collections::{HashMap, HashSet};

use mesh_schema::{Entity, EntityId, Schema};

/// A unique name of ASCII letters, digits, `-` and `_` for each visible entity.
pub(crate) struct Names<'s> {
    all: Vec<(&'s Entity, String)>,
    indexes: HashMap<EntityId, usize>,
}

impl<'s> Names<'s> {
    pub(crate) fn new(schema: &'s Schema) -> Self {
        let (mut taken, mut indexes) = (HashSet::new(), HashMap::new());
        let all: Vec<_> = schema
            .entities()
            .map(|(id, entity)| {
                let plain = |letter: char| if is_plain(letter) { letter } else { '_' };
                let mut name: String = entity.key.chars().map(plain).collect();
                // A name must not equal the key of another entity.
                while (name != entity.key && schema.find(&name).is_some()) || !taken.insert(name.clone()) {
                    name.push('_');
                }
                indexes.insert(id, indexes.len());
                (entity, name)
            })
            .collect();
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

#[cfg(test)]
mod tests {
    use mesh_schema::FieldType;

    use super::*;

    #[test]
    fn names_are_unique() {
        let mut builder = Schema::builder();
        for (index, key) in ["post", "a b", "a-b", "größe", "a/b", "a_b", "gr__e"].into_iter().enumerate() {
            builder =
                builder.entity(key, |it| it.field("id", FieldType::Integer).table(&format!("t{index}")));
        }
        let schema = builder.build().unwrap();
        let names = Names::new(&schema);
        let all: Vec<_> = names.entities().map(|(_, name)| name).collect();
        assert_eq!(all, ["post", "a_b_", "a-b", "gr__e_", "a_b__", "a_b", "gr__e"]);
    }
}
