//! Members of an entity, without those that policies hide.

use mesh_schema::{Computed, Entity, Field, Relation};
use serde_json::Value;

pub(crate) fn fields(entity: &Entity) -> impl Iterator<Item = &Field> + Clone {
    entity.fields.iter().filter(|field| entity.member(&field.name).is_some())
}

pub(crate) fn computed(entity: &Entity) -> impl Iterator<Item = &Computed> {
    entity.computed.iter().filter(|computed| entity.member(&computed.name).is_some())
}

pub(crate) fn relations(entity: &Entity) -> impl Iterator<Item = &Relation> {
    entity.relations.iter().filter(|relation| entity.member(&relation.name).is_some())
}

/// Returns the fields that identify records; none if one of them is hidden.
pub(crate) fn id_fields(entity: &Entity) -> Vec<&Field> {
    let is_visible = |field: &&Field| entity.member(&field.name).is_some();
    entity.id_fields().map(|field| Some(field).filter(is_visible)).collect::<Option<_>>().unwrap_or_default()
}

/// Returns the names of the fields that identify records, as in schema documents: a text, a list, or nothing.
pub(crate) fn id_names(entity: &Entity) -> Option<Value> {
    match id_fields(entity).as_slice() {
        [] => None,
        [one] => Some(one.name.as_str().into()),
        several => Some(several.iter().map(|field| field.name.as_str()).collect()),
    }
}
