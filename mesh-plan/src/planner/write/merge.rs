//! Planning of writes that create a record or change the one with that id. `SPEC §18.2`

use mesh_schema::Entity;

use super::members::MemberFields;
use super::rights::{WriteKind, not_writable};
use super::{WritePlanner, WriteRequest, error};
use crate::error::{FieldFault, WriteFault};
use crate::mutation::{Action, Assignment, GuardedEntity, Mutation};
use crate::planner::stored_values;
use crate::{Error, Fields, Key};

impl<'a> WritePlanner<'a> {
    /// Plans both writes. The rights that the request needs do not depend on whether the record exists.
    pub(super) fn merge(&self, subject: &mut GuardedEntity, id: Key) -> Result<Action, Error> {
        let entity = self.view.schema.entity(subject.entity);
        let create = self.part(subject, WriteKind::Create, &id, |values| Action::Create { values })?;
        // The id of a record that exists is not changed, so no right to change it is needed.
        let without_id =
            |fields: &Fields<'a>| entity.id_fields().fold(fields.clone(), |it, id| it.without(&id.name));
        let fields = self.request.fields.map(without_id);
        let request = WriteRequest { fields: fields.as_ref(), ..*self.request };
        let planner = WritePlanner { view: self.view, request: &request };
        let update = planner
            .part(subject, WriteKind::Update, &id, |values| Action::Update { id: id.clone(), values })?;
        if let Some(field) = entity.id_fields().find(|field| !field.writable.create) {
            return Err(not_writable(entity, &field.name).into());
        }
        subject.clone_from(&update.subject);
        Ok(Action::Merge { id, update: Box::new(update), create: Box::new(create) })
    }

    fn part(
        &self,
        subject: &GuardedEntity,
        kind: WriteKind,
        id: &Key,
        action: impl FnOnce(Vec<Assignment>) -> Action,
    ) -> Result<Mutation, Error> {
        let mut subject = subject.clone();
        self.guard_record(&mut subject, kind)?;
        let mut values = self.values(&subject, None, kind, &mut MemberFields::new(subject.entity()))?;
        let entity = self.view.schema.entity(subject.entity);
        if kind == WriteKind::Create {
            check_id(entity, id, &values)?;
            values.retain(|value| !entity.is_id_column(&value.column));
            values.extend(id_values(entity, id));
        }
        self.add_presets(&subject, kind, &mut values)?;
        let references = self.references(&subject, &values, kind)?;
        Ok(Mutation { subject, action: action(values), references, reply: None })
    }
}

/// Returns the values of the fields of the id in the path.
fn id_values(entity: &Entity, id: &Key) -> impl Iterator<Item = Assignment> {
    entity.id_fields().zip(id.iter()).map(|(field, part)| Assignment {
        field: field.name.as_str().into(),
        column: field.column.as_str().into(),
        value: stored_values::encode(field, part.clone()),
    })
}

/// Refuses a body whose id differs from the id in the path.
fn check_id(entity: &Entity, id: &Key, values: &[Assignment]) -> Result<(), Error> {
    let differs = |part: &Assignment| {
        values.iter().any(|value| value.column == part.column && value.value != part.value)
    };
    let faults = id_values(entity, id).filter(differs).map(|part| {
        let field = part.field.to_string();
        FieldFault::new(&*part.field, WriteFault::OtherId { field })
    });
    let faults: Vec<FieldFault> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(error(entity, WriteFault::Fields(faults)).into()) }
}
