//! Values of fields that policies set. `SPEC §6`

use mesh_schema::{EntityId, Field, Member, Schema};

use super::WritePlanner;
use super::rights::WriteKind;
use crate::error::PlanErrorKind;
use crate::mutation::{Assignment, GuardedEntity};
use crate::planner::context::NodeContext;
use crate::planner::{literal, stored_values};
use crate::policy::{Operand, Preset, SessionBinding, SessionInput};
use crate::{Error, PlanError, Value, WriteError};

/// Checks that a preset fits its field.
pub(crate) fn check(schema: &Schema, entity: EntityId, name: &str, value: &Operand) -> Result<(), PlanError> {
    let entity = schema.entity(entity);
    let context = NodeContext { entity, path: &entity.key };
    let Some(Member::Field(id)) = entity.member(name) else { return Err(context.unknown_field(name, None)) };
    let refused =
        |(ty, found)| context.error(None, PlanErrorKind::Literal { field: name.to_owned(), ty, found });
    let field = entity.field(id);
    match value {
        Operand::One(literal) => {
            literal::value(field.ty, field.time_form, literal).map(drop).map_err(refused)
        }
        Operand::Session(_) => Ok(()),
        Operand::None | Operand::Many(_) => {
            Err(refused(("one value", "another number of values".to_owned())))
        }
    }
}

impl WriteKind {
    fn sets(self, preset: &Preset) -> bool {
        match self {
            Self::Create => preset.on_create,
            Self::Update => preset.on_update,
        }
    }
}

impl WritePlanner<'_> {
    /// Adds the values of a record that policies set. An update without values changes nothing.
    pub(super) fn add_presets(
        &self,
        subject: &GuardedEntity,
        kind: WriteKind,
        values: &mut Vec<Assignment>,
    ) -> Result<(), Error> {
        if kind == WriteKind::Update && values.is_empty() {
            return Ok(());
        }
        let entity = self.view.full_schema.entity(subject.entity);
        for preset in self.view.presets(subject.entity) {
            let is_set_by_server = self.request.set.iter().any(|(name, _)| *name == preset.field);
            if is_set_by_server || !kind.sets(preset) {
                continue;
            }
            check(&self.view.full_schema, subject.entity, &preset.field, &preset.value).map_err(|error| {
                let fault = error.to_string();
                PlanError::new(PlanErrorKind::Policy { entity: entity.key.clone(), fault }, error.path)
            })?;
            let Some(Member::Field(id)) = entity.member(&preset.field) else { continue };
            let field = entity.field(id);
            let Some(value) = self.preset_value(field, &preset.value) else {
                let message = "The session lacks a value that the policy sets in these records";
                return Err(WriteError::Refused(message.to_owned()).into());
            };
            values.retain(|other| *other.field != *preset.field);
            let (field, column) = (preset.field.as_str().into(), field.column.as_str().into());
            values.push(Assignment { field, column, value });
        }
        Ok(())
    }

    /// Returns the value of a preset for the principal; `None` if the session lacks it or the field cannot hold it.
    fn preset_value(&self, field: &Field, value: &Operand) -> Option<Value> {
        let value = match value {
            Operand::One(literal) => literal::value(field.ty, field.time_form, literal).ok()?,
            Operand::Session(value) => {
                let (ty, time_form) = (field.ty, field.time_form);
                let binding = SessionBinding { value: value.clone(), ty, time_form, list: None };
                match binding.bind(self.request.principal) {
                    SessionInput::One(value) => value,
                    SessionInput::Many(_) => Value::Null,
                }
            }
            Operand::None | Operand::Many(_) => Value::Null,
        };
        (value != Value::Null).then(|| stored_values::encode(field, value))
    }

    /// Returns whether policies set a field in this kind of write, so that the client does not choose its value.
    pub(super) fn is_preset(&self, subject: &GuardedEntity, kind: WriteKind, field: &str) -> bool {
        let presets = self.view.presets(subject.entity).iter();
        presets.filter(|preset| kind.sets(preset)).any(|preset| preset.field == field)
    }
}
