//! The members of a body as fields with values.

use std::sync::Arc;

use mesh_schema::{Entity, Field, Member, NativeType};

use super::rights::WriteKind;
use super::{WritePlanner, column_limits, value};
use crate::error::{PlanErrorKind, WriteFault};
use crate::mutation::{Assignment, RelatedRecord};
use crate::planner::context::NodeContext;

/// The fields of the members of bodies, by the position of the member. The objects of a list usually have the same members in
/// the same order.
pub(super) struct MemberFields<'a> {
    entity: &'a Entity,
    known: Vec<MemberField<'a>>,
}

impl<'a> MemberFields<'a> {
    pub(super) fn new(entity: &'a Entity) -> Self {
        Self { entity, known: Vec::new() }
    }

    pub(super) fn entity(&self) -> &'a Entity {
        self.entity
    }

    /// Returns the field of the member with that index and name. Calls `check` unless an earlier body had the same member at
    /// that index.
    pub(super) fn find(
        &mut self,
        index: usize,
        name: &str,
        check: impl FnOnce(&'a Entity) -> Result<MemberField<'a>, PlanErrorKind>,
    ) -> Result<MemberField<'a>, PlanErrorKind> {
        match self.known.get(index) {
            Some(known) if known.field.name == name => Ok(known.clone()),
            _ => {
                let field = check(self.entity)?;
                self.known.truncate(index);
                self.known.push(field.clone());
                Ok(field)
            }
        }
    }
}

/// A field that a write may set.
#[derive(Clone)]
pub(super) struct MemberField<'a> {
    field: &'a Field,
    /// Name and column of the field, which values share.
    name: Arc<str>,
    column: Arc<str>,
    native: Option<&'a NativeType>,
}

impl WritePlanner<'_> {
    /// Returns the field of a member of the body, and checks that the write may set it.
    pub(super) fn member_field<'e>(
        &self,
        entity: &'e Entity,
        parent: Option<&RelatedRecord>,
        kind: WriteKind,
        name: &str,
    ) -> Result<MemberField<'e>, PlanErrorKind> {
        let (field, key) = (|| name.to_owned(), || entity.key.clone());
        let id = match entity.member(name) {
            Some(Member::Field(id)) => id,
            Some(Member::Relation(_)) => {
                return Err(WriteFault::RelationWritten { entity: key(), relation: field() }.into());
            }
            Some(Member::Computed(_)) => return Err(WriteFault::ComputedWritten { field: field() }.into()),
            None => {
                let context = NodeContext { entity, path: &entity.key };
                return Err(context.unknown_field(name, None).kind);
            }
        };
        let known = entity.field(id);
        if let Some(parent) = parent.filter(|parent| parent.stores_link_in(&known.column)) {
            return Err(WriteFault::LinkWritten { field: field(), relation: parent.relation.clone() }.into());
        }
        if known.generated {
            return Err(WriteFault::Generated { field: field() }.into());
        }
        if !kind.permits(known.writable) {
            return Err(WriteFault::NotWritable { entity: key(), field: field() }.into());
        }
        Ok(MemberField {
            field: known,
            name: known.name.as_str().into(),
            column: known.column.as_str().into(),
            native: entity.native.get(&known.column),
        })
    }
}

impl MemberField<'_> {
    /// Checks the JSON text of the value.
    pub(super) fn assigned(self, text: &str) -> Result<Assignment, PlanErrorKind> {
        let value = match value::parse(self.field, text) {
            Ok(value) => Assignment { field: self.name, column: self.column, value },
            Err((ty, found)) => {
                return Err(PlanErrorKind::Literal { field: self.field.name.clone(), ty, found });
            }
        };
        let truncation = self.native.and_then(|native| column_limits::truncation_fault(&value, native));
        truncation.map_or(Ok(value), |fault| Err(fault.into()))
    }
}
