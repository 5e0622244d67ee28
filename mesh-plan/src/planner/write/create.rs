//! Planning of several creations. `SPEC §18.1`

use super::members::MemberFields;
use super::rights::WriteKind;
use super::{WritePlanner, WriteRequest, check};
use crate::mutation::{Action, Fields, GuardedEntity, Reference};
use crate::policy::View;
use crate::{Error, PlanError};

/// Plans creations of records of one entity. Their common parts are determined once.
pub(crate) struct CreatePlanner<'a> {
    view: &'a View,
    request: &'a WriteRequest<'a>,
    subject: GuardedEntity,
    fields: MemberFields<'a>,
}

impl<'a> CreatePlanner<'a> {
    pub(crate) fn new(view: &'a View, request: &'a WriteRequest<'a>) -> Result<Self, PlanError> {
        let mut subject = check(view, request)?;
        WritePlanner { view, request }.guard_record(&mut subject, WriteKind::Create)?;
        let fields = MemberFields::new(view.schema.entity(subject.entity));
        Ok(Self { view, request, subject, fields })
    }

    /// Returns the entity, with the conditions of policies on the records.
    pub(crate) fn subject(&self) -> &GuardedEntity {
        &self.subject
    }

    /// Plans the creation of a record.
    pub(crate) fn plan(&mut self, fields: &Fields<'_>) -> Result<(Action, Vec<Reference>), Error> {
        let request = self.request.with_fields(fields);
        let planner = WritePlanner { view: self.view, request: &request };
        let (values, references) =
            planner.record(&self.subject, None, WriteKind::Create, &mut self.fields)?;
        Ok((Action::Create { values }, references))
    }
}
