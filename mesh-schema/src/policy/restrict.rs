//! Schemas restricted to what a role may see.

use std::collections::HashSet;

use crate::{Entity, Member, Schema};

/// What a role may not do with an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    /// Whether the entity is hidden.
    pub hidden: bool,
    /// Hidden names of the entity: fields, relations, computed fields.
    pub without: HashSet<String>,
    /// Fields that cannot be written and accept no files.
    pub fixed: HashSet<String>,
}

impl Schema {
    /// Returns the schema without hidden names: they cannot be looked up, nor can relations to hidden entities. Ids do
    /// not change, and storage columns remain, so that rows can still be linked, ordered and identified by hidden
    /// columns.
    #[must_use]
    pub fn restricted(&self, restrict: impl Fn(&Entity) -> Restriction) -> Self {
        let mut schema = self.clone();
        let restrictions: Vec<Restriction> = self.entities.iter().map(restrict).collect();
        for (entity, restriction) in schema.entities.iter_mut().zip(&restrictions) {
            if restriction.hidden {
                schema.by_key.remove(&entity.key);
            }
            let Entity { members, fields, relations, .. } = entity;
            members.retain(|name, member| {
                let leads_nowhere = match member {
                    Member::Relation(id) => relations
                        .get(id.0 as usize)
                        .and_then(|relation| restrictions.get(relation.target.0 as usize))
                        .is_none_or(|target| target.hidden),
                    Member::Field(_) | Member::Computed(_) => false,
                };
                !leads_nowhere && !restriction.without.contains(name)
            });
            for field in fields {
                if !members.contains_key(&field.name) || restriction.fixed.contains(&field.name) {
                    field.writable = false;
                    field.upload = None;
                }
            }
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FieldType, JoinDocument};

    #[test]
    fn hidden_names_cannot_be_looked_up_but_ids_do_not_change() {
        let schema = Schema::builder()
            .entity("user", |user| user.field("id", FieldType::Integer).untyped("name").writable())
            .entity("post", |post| {
                post.field("id", FieldType::Integer).untyped("title").untyped("ownerId").writable()
            })
            .relation("post.owner", JoinDocument::one("user", "users.id = posts.ownerId"))
            .relation("user.posts", JoinDocument::many("post", "users.id = posts.ownerId"))
            .build()
            .unwrap();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let seen = schema.restricted(|entity| match entity.key.as_str() {
            "user" => Restriction { hidden: true, ..Restriction::default() },
            _ => {
                Restriction { without: names(&["ownerId"]), fixed: names(&["id"]), ..Restriction::default() }
            }
        });
        assert_eq!(seen.find("user"), None);
        assert_eq!(seen.entities().map(|(_, entity)| entity.key.as_str()).collect::<Vec<_>>(), ["post"]);
        let id = seen.find("post").unwrap();
        assert_eq!(schema.find("post"), Some(id));
        let post = seen.entity(id);
        assert_eq!((post.member("ownerId"), post.member("owner")), (None, None));
        assert!(post.member("title").is_some());
        assert!(post.field_of_column("ownerId").is_some(), "storage columns are found as before");
        let writable: Vec<_> =
            post.fields.iter().filter(|field| field.writable).map(|field| field.name.as_str()).collect();
        assert_eq!(writable, ["title"]);
    }
}
