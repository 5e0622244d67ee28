//! Members of an entity, without those that policies hide.

use mesh_schema::{Computed, Entity, Field, Relation};

pub(crate) fn fields(entity: &Entity) -> impl Iterator<Item = &Field> + Clone {
    entity.fields.iter().filter(|field| entity.member(&field.name).is_some())
}

pub(crate) fn computed(entity: &Entity) -> impl Iterator<Item = &Computed> {
    entity.computed.iter().filter(|computed| entity.member(&computed.name).is_some())
}

pub(crate) fn relations(entity: &Entity) -> impl Iterator<Item = &Relation> {
    entity.relations.iter().filter(|relation| entity.member(&relation.name).is_some())
}

/// Returns the name of the field that identifies records.
pub(crate) fn id_name(entity: &Entity) -> Option<&str> {
    let name = entity.id.map(|id| entity.field(id).name.as_str());
    name.filter(|name| entity.member(name).is_some())
}
