//! Schemas restricted to the permissions of a role.

use std::collections::HashSet;

use crate::{Entity, FieldId, FieldWrites, Member, Schema};

/// The restrictions of a role on an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    /// Whether the entity is hidden.
    pub hidden: bool,
    /// Hidden names of the entity: fields, relations, computed fields.
    pub hidden_names: HashSet<String>,
    /// The fields that a new record may have, in its body or as a file; `None` for all that the schema permits.
    pub create: Option<HashSet<String>>,
    /// The fields that may be changed; `None` for all that the schema permits.
    pub update: Option<HashSet<String>>,
    /// Fields that a new record must not have.
    pub denied_on_create: HashSet<String>,
    /// Fields that must not be changed.
    pub denied_on_update: HashSet<String>,
    /// Whether records cannot be deleted.
    pub denies_deletion: bool,
}

impl Schema {
    /// Returns the schema without hidden names. Hidden names and relations to hidden entities cannot be looked up. Ids do
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
            entity.deletable &= !restriction.hidden && !restriction.denies_deletion;
            let Entity { members, fields, relations, search, .. } = entity;
            members.retain(|name, member| {
                let leads_nowhere = match member {
                    Member::Relation(id) => relations
                        .get(id.0 as usize)
                        .and_then(|relation| restrictions.get(relation.target.0 as usize))
                        .is_none_or(|target| target.hidden),
                    Member::Field(_) | Member::Computed(_) => false,
                };
                !leads_nowhere && !restriction.hidden_names.contains(name)
            });
            let shows = |id: &FieldId| {
                fields.get(id.0 as usize).is_some_and(|field| members.contains_key(&field.name))
            };
            search.take_if(|search| restriction.hidden || !search.fields.iter().all(shows));
            for field in fields {
                let is_hidden = restriction.hidden || !members.contains_key(&field.name);
                let is_denied = |allowed: &Option<HashSet<String>>, denied: &HashSet<String>| {
                    is_hidden
                        || denied.contains(&field.name)
                        || allowed.as_ref().is_some_and(|allowed| !allowed.contains(&field.name))
                };
                let create =
                    field.denied.create || is_denied(&restriction.create, &restriction.denied_on_create);
                let update =
                    field.denied.update || is_denied(&restriction.update, &restriction.denied_on_update);
                field.denied = FieldWrites { create, update };
                field.writable.create &= !create;
                field.writable.update &= !update;
                if create && update {
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
    use crate::{Field, FieldType, JoinDocument};

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
                let title = || Some(names(&["title"]));
                Restriction { hidden_names: names(&["ownerId"]), update: title(), ..Restriction::default() }
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
        let rights = |of: fn(&Field) -> bool| {
            post.fields.iter().filter(|field| of(field)).map(|field| field.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(rights(|field| field.writable.create), ["id", "title"]);
        assert_eq!(rights(|field| field.writable.update), ["title"]);
        assert_eq!(rights(|field| field.denied.create), ["ownerId"]);
        assert!(post.deletable);
    }
}
