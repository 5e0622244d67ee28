//! The columns that store the link of two records.

use mesh_schema::{Cardinality, ColumnPair, Entity, Link, Relation};

use crate::mutation::{KeyColumns, LinkKey};

/// Finds the columns that store a relation's link.
///
/// In a to-many relation the target refers to the parent. In a to-one relation the link is on the side whose column is
/// compared with the id of the other; if neither id takes part, on the side whose column is named after the other's,
/// as `user_uuid` is after `uuid`.
pub(super) fn stored_key(parent: &Entity, relation: &Relation, target: &Entity) -> LinkKey {
    let pairs = match &relation.link {
        Link::Direct { pairs } => pairs,
        Link::Through { table, from, to, parent, target } => {
            return LinkKey::Junction {
                table: table.clone(),
                from: from.clone(),
                to: to.clone(),
                parent: parent.clone(),
                target: target.clone(),
            };
        }
    };
    let all = || KeyColumns { set: pairs.clone(), same: Vec::new() };
    if relation.cardinality == Cardinality::Many {
        return LinkKey::InRelated(all());
    }
    let is_id = |entity: &Entity, column: &str| {
        entity.id.is_some_and(|id| entity.field(id).column.eq_ignore_ascii_case(column))
    };
    // Other pairs beside an id, such as a tenant's, only restrict which records may be linked.
    let (set, same): (Vec<_>, Vec<_>) = pairs.iter().cloned().partition(|pair| is_id(target, &pair.target));
    if !set.is_empty() {
        return LinkKey::InSubject(KeyColumns { set, same });
    }
    let (set, same): (Vec<_>, Vec<_>) = pairs.iter().cloned().partition(|pair| is_id(parent, &pair.parent));
    if !set.is_empty() {
        return LinkKey::InRelated(KeyColumns { set, same });
    }
    if pairs.iter().all(is_named_after_parent) {
        LinkKey::InRelated(all())
    } else {
        LinkKey::InSubject(all())
    }
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
        match stored_key(user, user.relation(id), schema.entity(profiles)) {
            LinkKey::InSubject(key) => format!("users.{}", key.set[0].parent),
            LinkKey::InRelated(key) => format!("profiles.{}", key.set[0].target),
            LinkKey::Junction { .. } => panic!(),
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
