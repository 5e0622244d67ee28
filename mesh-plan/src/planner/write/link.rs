//! The link of two records: the columns that store it, and the body that sets it.

use mesh_schema::{Cardinality, ColumnPair, Entity, Link, Relation};

use super::{WritePlanner, value};
use crate::PlanError;
use crate::error::{FieldFault, WriteFault};
use crate::mutation::{JsonId, LinkColumns, LinkLocation, RelatedRecord};

impl WritePlanner<'_> {
    /// Returns the id in the body `{entityId}`.
    pub(super) fn entity_id(&self, other: &RelatedRecord) -> Result<JsonId, PlanError> {
        let refused = |found: String| {
            let fault = WriteFault::EntityId { relation: other.relation.clone(), found };
            PlanError::new(WriteFault::Fields(vec![FieldFault::new("entityId", fault)]), "")
        };
        let mut id = None;
        for (name, text) in self.members() {
            if name != "entityId" {
                return Err(refused(format!("the member '{name}'")));
            }
            // An id of one field is a scalar.
            let is_possible =
                |id: &JsonId| matches!(id, JsonId::Text(_)) || other.subject.entity().id.len() > 1;
            let parsed = JsonId::parse(text).filter(is_possible);
            id = Some(parsed.ok_or_else(|| refused(value::describe(text)))?);
        }
        id.ok_or_else(|| refused("nothing".to_owned()))
    }
}

impl LinkLocation {
    /// Finds the columns that store a relation's link.
    ///
    /// In a to-many relation, the target refers to the parent. In a to-one relation, the link is on the side whose columns
    /// are compared with the id of the other side. If both are ids, a foreign key decides. If the relation compares neither id, the link is on the side whose column
    /// is named after the other column, as `user_uuid` is named after `uuid`. If an id has several columns, a column that is
    /// also in the id of the record with the link, such as a tenant's, is not set, unless this is true of all columns.
    pub fn of_relation(parent: &Entity, relation: &Relation, target: &Entity) -> Self {
        let pairs = match &relation.link {
            Link::Direct { pairs } => pairs,
            Link::Through { table, from, to, parent, target, .. } => {
                return Self::Junction {
                    table: table.clone(),
                    from: from.clone(),
                    to: to.clone(),
                    parent: parent.clone(),
                    target: target.clone(),
                };
            }
        };
        let all = || LinkColumns { set: pairs.clone(), same: Vec::new() };
        if relation.cardinality == Cardinality::Many {
            return Self::InRelated(all());
        }
        let is_in_target_id = |pair: &ColumnPair| target.is_id_column(&pair.target);
        let is_in_parent_id = |pair: &ColumnPair| parent.is_id_column(&pair.parent);
        let is_of_target = pairs.iter().all(is_in_parent_id) && refers(target, parent, pairs);
        if let Some(key) = split(pairs, is_in_target_id, is_in_parent_id).filter(|_| !is_of_target) {
            return Self::InParent(key);
        }
        if let Some(key) = split(pairs, is_in_parent_id, is_in_target_id) {
            return Self::InRelated(key);
        }
        if pairs.iter().all(is_named_after_parent) { Self::InRelated(all()) } else { Self::InParent(all()) }
    }
}

/// Returns whether the target of a relation has a foreign key to the parent over these columns.
fn refers(target: &Entity, parent: &Entity, pairs: &[ColumnPair]) -> bool {
    let is_pair =
        |key: &ColumnPair| pairs.iter().any(|pair| pair.target == key.parent && pair.parent == key.target);
    target.foreign_keys.iter().any(|key| key.table == parent.table && key.pairs.iter().all(is_pair))
}

/// Splits the columns of a link into those that are set and those that only restrict which records may be linked; `None` if
/// the link does not compare the id that is referred to.
fn split(
    pairs: &[ColumnPair],
    is_referred: impl Fn(&ColumnPair) -> bool,
    is_own: impl Fn(&ColumnPair) -> bool,
) -> Option<LinkColumns> {
    let is_free = |pair: &ColumnPair| is_referred(pair) && !is_own(pair);
    let has_free = pairs.iter().any(is_free);
    let is_set = |pair: &ColumnPair| if has_free { is_free(pair) } else { is_referred(pair) };
    let (set, same): (Vec<_>, Vec<_>) = pairs.iter().cloned().partition(is_set);
    (!set.is_empty()).then_some(LinkColumns { set, same })
}

fn is_named_after_parent(pair: &ColumnPair) -> bool {
    pair.target.len() > pair.parent.len() && pair.target.to_lowercase().ends_with(&pair.parent.to_lowercase())
}

#[cfg(test)]
mod tests {
    use mesh_schema::{FieldType, JoinDocument, Member, Schema};

    use super::*;

    /// Returns the columns that store the to-one relation `user.profile` over these columns of the two tables.
    #[track_caller]
    fn stored(id: Option<&str>, user: &str, profile: &str) -> String {
        let schema = Schema::builder()
            .entity("user", |entity| {
                let entity = entity.field("key", FieldType::Integer).field("email", FieldType::String);
                match id {
                    Some(id) => entity.id(id),
                    None => entity.no_id(),
                }
            })
            .entity("profile", |entity| entity.field("bio", FieldType::String).no_id())
            .relation(
                "user.profile",
                JoinDocument::one("profile", format!("profiles.{profile} = users.{user}")),
            )
            .build()
            .unwrap();
        let (users, profiles) = (schema.find("user").unwrap(), schema.find("profile").unwrap());
        let user = schema.entity(users);
        let Some(Member::Relation(id)) = user.member("profile") else { panic!() };
        match LinkLocation::of_relation(user, user.relation(id), schema.entity(profiles)) {
            LinkLocation::InParent(key) => format!("users.{}", key.set[0].parent),
            LinkLocation::InRelated(key) => format!("profiles.{}", key.set[0].target),
            LinkLocation::Junction { .. } => panic!(),
        }
    }

    #[test]
    fn a_to_one_link_is_on_the_side_that_refers_to_an_id() {
        assert_eq!(stored(Some("key"), "key", "owner"), "profiles.owner");
        assert_eq!(stored(Some("key"), "email", "owner"), "users.email");
    }

    #[test]
    fn a_link_without_ids_is_on_the_side_named_after_the_other() {
        assert_eq!(stored(None, "email", "user_EMAIL"), "profiles.user_EMAIL");
        assert_eq!(stored(None, "email", "email"), "users.email");
        assert_eq!(stored(None, "email", "mail"), "users.email");
        assert_eq!(stored(None, "email", "address_of_user"), "users.email");
    }
}
