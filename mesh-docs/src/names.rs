//! What are entities called in documents whose names have few letters? Each by one of its own.

use std::collections::{HashMap, HashSet};

use mesh_schema::{Entity, EntityId, Schema};

/// A name of ASCII letters, digits, `-` and `_` for each entity that is to be seen.
pub(crate) struct Names<'s> {
    all: Vec<(&'s Entity, String)>,
    places: HashMap<EntityId, usize>,
}

impl<'s> Names<'s> {
    pub(crate) fn of(schema: &'s Schema) -> Self {
        let (mut taken, mut places) = (HashSet::new(), HashMap::new());
        let all: Vec<_> = schema
            .entities()
            .map(|(id, entity)| {
                let plain = |letter: char| if is_plain(letter) { letter } else { '_' };
                let mut name: String = entity.key.chars().map(plain).collect();
                // Lengthened, a name may be another entity's own.
                while (name != entity.key && schema.find(&name).is_some()) || !taken.insert(name.clone()) {
                    name.push('_');
                }
                places.insert(id, places.len());
                (entity, name)
            })
            .collect();
        Self { all, places }
    }

    /// The entities with their names, in the order of the schema.
    pub(crate) fn entities(&self) -> impl Iterator<Item = (&'s Entity, &str)> {
        self.all.iter().map(|(entity, name)| (*entity, name.as_str()))
    }

    /// The name of an entity that can be seen.
    pub(crate) fn get(&self, id: EntityId) -> &str {
        let found = self.places.get(&id).and_then(|place| self.all.get(*place));
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
    fn each_entity_has_a_name_of_its_own() {
        let mut builder = Schema::builder();
        for (index, key) in ["post", "a b", "a-b", "größe", "a/b", "a_b", "gr__e"].into_iter().enumerate() {
            builder =
                builder.entity(key, |it| it.field("id", FieldType::Integer).table(&format!("t{index}")));
        }
        let schema = builder.build().unwrap();
        let names = Names::of(&schema);
        let all: Vec<_> = names.entities().map(|(_, name)| name).collect();
        assert_eq!(all, ["post", "a_b_", "a-b", "gr__e_", "a_b__", "a_b", "gr__e"]);
    }
}
