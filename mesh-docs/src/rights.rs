//! The writes of an entity that the caller has permission for.

use mesh_plan::mutation::LinkLocation;
use mesh_schema::{Cardinality, Entity, Field, Link, Relation};
use serde_json::{Value, json};

use crate::members;

/// A write of the records of a relation. `SPEC §11`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelationWrite {
    /// Sets and clears the record of a to-one relation.
    Set,
    /// Links and unlinks records of a many-to-many relation.
    Link,
    /// Creates a child.
    Create,
    /// Deletes a child.
    Delete,
}

impl RelationWrite {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Link => "link",
            Self::Create => "create",
            Self::Delete => "delete",
        }
    }
}

/// Returns whether records of an entity can be created.
pub(crate) fn is_creatable(entity: &Entity) -> bool {
    !entity.id.is_empty() && entity.is_creatable()
}

/// Returns whether records of an entity can be updated.
pub(crate) fn is_updatable(entity: &Entity) -> bool {
    !entity.id.is_empty() && entity.is_updatable()
}

/// Returns the fields that the caller may set and change, and whether the caller may delete records; `None` if nothing
/// is permitted.
pub(crate) fn record_writes(entity: &Entity) -> Option<Value> {
    let names = |is_writable: fn(&Field) -> bool| -> Vec<_> {
        members::fields(entity).filter(|field| is_writable(field)).map(|field| &field.name).collect()
    };
    let create = names(|field| field.writable.create);
    let update = names(|field| field.writable.update);
    let can_write = !create.is_empty() || !update.is_empty() || entity.deletable;
    (can_write && !entity.id.is_empty())
        .then(|| json!({"create": create, "update": update, "delete": entity.deletable}))
}

/// Returns the writes of a relation that the caller has permission for.
pub(crate) fn relation_writes(entity: &Entity, relation: &Relation, target: &Entity) -> Vec<RelationWrite> {
    if entity.id.is_empty() || target.id.is_empty() {
        return Vec::new();
    }
    let is_junction = matches!(relation.link, Link::Through { .. });
    let all = match relation.cardinality {
        Cardinality::One => vec![(RelationWrite::Set, can_be_set(entity, relation, target))],
        Cardinality::Many if is_junction => vec![(RelationWrite::Link, is_updatable(entity))],
        Cardinality::Many => vec![
            (RelationWrite::Create, is_creatable(target) && is_link_permitted(relation, target)),
            (RelationWrite::Delete, target.deletable),
        ],
    };
    all.into_iter().filter_map(|(write, can)| can.then_some(write)).collect()
}

/// Returns whether policies permit a new child to set its link to the parent.
fn is_link_permitted(relation: &Relation, target: &Entity) -> bool {
    let Link::Direct { pairs } = &relation.link else { return true };
    let is_denied =
        |column: &str| target.field_of_column(column).is_some_and(|id| target.field(id).denied.create);
    !pairs.iter().any(|pair| is_denied(&pair.target))
}

/// Returns whether the columns that store a to-one relation are writable.
fn can_be_set(entity: &Entity, relation: &Relation, target: &Entity) -> bool {
    let (entity, columns): (_, Vec<_>) = match LinkLocation::of_relation(entity, relation, target) {
        LinkLocation::InParent(key) => (entity, key.set.into_iter().map(|pair| pair.parent).collect()),
        LinkLocation::InRelated(key) => (target, key.set.into_iter().map(|pair| pair.target).collect()),
        LinkLocation::Junction { .. } => return is_updatable(entity),
    };
    let is_writable =
        |column: &String| entity.field_of_column(column).is_none_or(|id| entity.field(id).writable.update);
    is_updatable(entity) && columns.iter().all(is_writable)
}
