//! The rights that writes need beyond those of the fields in their bodies. `SPEC §6`, `SPEC §11`

use mesh_schema::{Entity, EntityId, FieldWrites};

use super::error;
use crate::PlanError;
use crate::error::WriteFault;
use crate::mutation::{GuardedEntity, LinkLocation, RelatedRecord};
use crate::policy::View;

/// Whether a record is created or updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Create,
    Update,
}

impl WriteKind {
    /// Returns whether the rights include this kind of write.
    pub(super) fn permits(self, rights: FieldWrites) -> bool {
        match self {
            Self::Create => rights.create,
            Self::Update => rights.update,
        }
    }

    /// Refuses an entity without fields that this kind of write may set.
    pub(super) fn check_entity(self, entity: &Entity) -> Result<(), PlanError> {
        let (is_permitted, action) = match self {
            Self::Create => (entity.is_creatable(), "created"),
            Self::Update => (entity.is_updatable(), "updated"),
        };
        if is_permitted { Ok(()) } else { Err(not_permitted(entity, action)) }
    }
}

/// Refuses deletions of an entity that permits none.
pub(super) fn check_delete(entity: &Entity) -> Result<(), PlanError> {
    if entity.deletable { Ok(()) } else { Err(not_permitted(entity, "deleted")) }
}

/// Checks that a child may be created with its link to the parent. The relation in the path grants the right to set a column
/// without a field, or a field that the schema makes writable for no role. A field that a policy denies is refused.
pub(super) fn check_child_link(other: &RelatedRecord) -> Result<(), PlanError> {
    let LinkLocation::InRelated(key) = &other.link else { return Ok(()) };
    let child = other.subject.entity();
    for pair in key.all() {
        let mut fields = child.fields.iter().filter(|field| field.column == pair.target).peekable();
        if fields.peek().is_some() && fields.all(|field| field.denied.create) {
            return Err(link_not_writable(child, &pair.target, other));
        }
    }
    Ok(())
}

/// Checks that the fields of the columns that store a to-one relation may be updated, and that their entity may be updated.
pub(super) fn check_link(
    view: &View,
    subject: &GuardedEntity,
    other: &RelatedRecord,
) -> Result<(), PlanError> {
    let (entity, columns): (_, Vec<&String>) = match &other.link {
        LinkLocation::InParent(key) => (subject.entity(), key.set.iter().map(|pair| &pair.parent).collect()),
        LinkLocation::InRelated(key) => {
            (other.subject.entity(), key.set.iter().map(|pair| &pair.target).collect())
        }
        LinkLocation::Junction { .. } => {
            check_junction(view, subject, other, WriteKind::Create)?;
            return check_junction(view, subject, other, WriteKind::Update);
        }
    };
    for column in columns {
        let mut fields = entity.fields.iter().filter(|field| field.column == *column).peekable();
        if fields.peek().is_some() && fields.all(|field| !field.writable.update) {
            return Err(link_not_writable(entity, column, other));
        }
    }
    WriteKind::Update.check_entity(entity)
}

/// Checks that pairs may be added to a junction ([`WriteKind::Create`]) or removed from it. The pairs belong to the record in the
/// path, which must be updatable. If the junction is also an entity whose records can be created or deleted, that right is
/// needed too, so that the relation does not bypass a policy on the entity.
pub(super) fn check_junction(
    view: &View,
    subject: &GuardedEntity,
    other: &RelatedRecord,
    kind: WriteKind,
) -> Result<(), PlanError> {
    let LinkLocation::Junction { table, from, to, .. } = &other.link else { return Ok(()) };
    WriteKind::Update.check_entity(subject.entity())?;
    let refused = |id: &EntityId| {
        let (full, visible) = (view.full_schema.entity(*id), view.schema.entity(*id));
        match kind {
            WriteKind::Update => full.deletable && !visible.deletable,
            WriteKind::Create => {
                let is_end = |column: &String| column == from || column == to;
                let ends = visible.fields.iter().filter(|field| is_end(&field.column));
                full.is_creatable()
                    && (!visible.is_creatable() || ends.into_iter().any(|field| field.denied.create))
            }
        }
    };
    if view.references.stored_in(table).iter().any(refused) {
        let relation = other.relation.clone();
        return Err(error(subject.entity(), WriteFault::LinkNotWritable { relation }));
    }
    Ok(())
}

fn not_permitted(entity: &Entity, action: &'static str) -> PlanError {
    let key = entity.key.clone();
    if entity.is_writable() {
        error(entity, WriteFault::NotPermitted { entity: key, action })
    } else {
        error(entity, WriteFault::EntityNotWritable { entity: key })
    }
}

/// Returns the error for a link that may not be written. It does not name a field that a policy hides.
fn link_not_writable(entity: &Entity, column: &str, other: &RelatedRecord) -> PlanError {
    let mut names = entity.fields.iter().filter(|field| field.column == column).map(|field| &field.name);
    match names.find(|name| entity.member(name).is_some()) {
        Some(name) => not_writable(entity, name),
        None => error(entity, WriteFault::LinkNotWritable { relation: other.relation.clone() }),
    }
}

pub(super) fn not_writable(entity: &Entity, field: &str) -> PlanError {
    error(entity, WriteFault::NotWritable { entity: entity.key.clone(), field: field.to_owned() })
}
