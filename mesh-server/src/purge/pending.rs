//! The changes of which a cache has not been notified.

use std::collections::{BTreeSet, HashSet};

use mesh_plan::Change;
use mesh_schema::Schema;
use mesh_wire::response::CacheTags;

/// The maximum number of changes that are kept one by one. More changes count as a change of everything.
const MAX_CHANGES: usize = 1_024;
/// The maximum number of tags in one purge, which CDNs limit. More tags are replaced by the tags of whole entities, or
/// by the tag of everything.
const MAX_TAGS: usize = 30;

/// A set of changes with bounded memory.
#[derive(Debug, Default)]
pub(super) struct Pending {
    changes: HashSet<Change>,
}

impl Pending {
    /// Returns a change after which any reply may be stale.
    pub(super) fn everything() -> Self {
        Self { changes: HashSet::from([Change::anything()]) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn add(&mut self, change: Change) {
        self.changes.insert(change);
        if self.changes.len() > MAX_CHANGES {
            *self = Self::everything();
        }
    }

    /// Returns the tags of the replies that the changes have made stale.
    pub(super) fn tags(&self, tags: &CacheTags, schema: &Schema) -> Vec<String> {
        let mut entities = BTreeSet::new();
        let mut precise = BTreeSet::from([tags.many()]);
        let mut coarse = precise.clone();
        for change in self.changes.iter().flat_map(|change| change.by_entity(schema)) {
            // An entity that the schema does not have may be a table through which others are read.
            let Some(entity) = change.entity.filter(|key| schema.find(key).is_some()) else {
                return vec![tags.all()];
            };
            precise.insert(match &change.id {
                Some(id) => tags.record(&entity, id),
                None => tags.records(&entity),
            });
            entities.insert(entity);
        }
        for entity in entities {
            precise.insert(tags.entity(&entity));
            coarse.extend([tags.entity(&entity), tags.records(&entity)]);
        }
        let fitting = [precise, coarse].into_iter().find(|tags| tags.len() <= MAX_TAGS);
        fitting.map_or_else(|| vec![tags.all()], |tags| tags.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mesh_schema::{FieldType, TableName};
    use mesh_wire::BasePath;

    use super::*;

    fn tags_of(changes: impl IntoIterator<Item = Change>) -> Vec<String> {
        let keys = (0..20).map(|number| format!("e{number}"));
        let schema = keys
            .fold(Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)), {
                |schema, key| schema.entity(&key, |entity| entity.field("id", FieldType::Integer))
            });
        let mut pending = Pending::default();
        changes.into_iter().for_each(|change| pending.add(change));
        pending.tags(&CacheTags::new(&BasePath::parse("/mesh").unwrap()), &schema.build().unwrap())
    }

    #[test]
    fn a_change_names_the_replies_that_depend_on_it() {
        assert_eq!(tags_of([Change::record("post", "7")]), ["/mesh/*", "/mesh/post", "/mesh/post/7"]);
        assert_eq!(tags_of([Change::entity("post")]), ["/mesh/*", "/mesh/post", "/mesh/post/*"]);
        assert_eq!(tags_of([Change::record("post", "7"), Change::anything()]), ["/mesh"]);
        assert_eq!(tags_of([Change::entity("nosuch")]), ["/mesh"]);
        let table = |name: String| TableName { schema: None, name };
        let tables = (1..20).map(|number| format!("e{number}s")).chain(["posts".to_owned()]).map(table);
        let change = Change::outside(Arc::new(tables.collect()));
        assert_eq!(tags_of([change]), ["/mesh/*", "/mesh/e0", "/mesh/e0/*"]);
    }

    #[test]
    fn many_changes_name_whole_entities_or_everything() {
        let records = |count: usize| (0..count).map(|id| Change::record("post", id.to_string()));
        assert_eq!(tags_of(records(28)).len(), MAX_TAGS);
        assert_eq!(tags_of(records(29)), ["/mesh/*", "/mesh/post", "/mesh/post/*"]);
        assert_eq!(tags_of((0..20).map(|number| Change::entity(format!("e{number}")))), ["/mesh"]);
        assert_eq!(tags_of(records(MAX_CHANGES + 1)), ["/mesh"]);
    }
}
