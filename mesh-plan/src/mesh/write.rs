//! Planning and execution of writes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use mesh_ql::{Query, ReadNode, Selection};

use super::{Mesh, Request, panicked};
use crate::error::{Rule, WriteFault};
use crate::mutation::{Action, GuardedEntity, LinkLocation, Mutation, Outcome, WriteReply, Written};
use crate::plan::{Plan, ReadTarget};
use crate::planner;
use crate::planner::write::{WriteKind, WriteRequest, empty};
use crate::{Change, Context, Error, Key, PlanError, RecordId, ResolveError, WriteError};

impl Mesh {
    /// Checks a write against the schema and plans its reply. Fields and entities can be written only if they are
    /// `writable` and have a mutator. `SPEC §11`
    ///
    /// # Errors
    /// [`Error::Syntax`] and [`Error::Plan`] as for reads, and [`WriteError::NotFound`] for an id that no record can have.
    pub fn plan_write(&self, request: &WriteRequest<'_>) -> Result<Mutation, Error> {
        let view = self.views.find(request.principal);
        let (subject, action, references) = planner::write::plan(&view, request)?;
        if self.mutators.find(subject.key()).is_none() {
            let entity = subject.key().to_owned();
            return Err(PlanError::new(WriteFault::EntityNotWritable { entity }, subject.key()).into());
        }
        let shown = match &action {
            Action::Create { .. } | Action::Update { .. } | Action::Merge { .. } => Some(&subject),
            Action::CreateChild { other, .. } | Action::Connect { other, .. } => Some(&other.subject),
            _ => None,
        };
        let reply = shown.map(|shown| self.plan_reply(shown, request)).transpose()?.map(Arc::new);
        Ok(Mutation { subject, action, references, reply })
    }

    /// Checks what does not depend on ids and values: that the entity and the relation of a write exist, and that the
    /// principal has a right to such a write.
    ///
    /// # Errors
    /// Those of [`Mesh::plan_write`] about the entity, the relation and the rights.
    pub fn check_write(&self, request: &WriteRequest<'_>) -> Result<(), PlanError> {
        planner::write::check(&self.views.find(request.principal), request).map(drop)
    }

    /// Plans the read of the record that the reply shows. Its id is set when the record has been written.
    pub(super) fn plan_reply(
        &self,
        shown: &GuardedEntity,
        request: &WriteRequest<'_>,
    ) -> Result<Plan, Error> {
        let target = ReadTarget::Point(Key::default());
        if let Some(query) = request.reply {
            let read = Request::new(query).with_params(request.reply_params);
            let read = read.with_id("").with_entity(shown.key());
            return Ok(Plan { target, ..self.plan(&read.with_principal(request.principal))? });
        }
        let entity = shown.entity();
        let fields = entity.fields.iter().filter(|field| entity.member(&field.name).is_some());
        let select = fields
            .map(|field| Selection::Field { name: field.name.as_str().into(), alias: None, at: None })
            .collect();
        let root = ReadNode { select, ..ReadNode::default() };
        let query = Query { entity: shown.key().into(), root };
        // The plan comes from the plan cache. Back ends cache data per plan, so a new plan would fill their caches in vain.
        let read = Request::new(&query).with_id("").with_principal(request.principal);
        Ok(Plan { target, ..self.plan(&read)? })
    }

    /// Returns the path segment of a record's id, given as in [`RecordId::Text`].
    pub fn id_segment(&self, entity: &str, id: &str) -> String {
        let schema = self.schema();
        let fields = schema.find(entity).map_or(1, |entity| schema.entity(entity).id.len());
        RecordId::Text(id).to_segment(fields)
    }

    /// Executes a write. Reads its reply if the mutator has not done so.
    pub async fn write(&self, mutation: Mutation, context: &Context) -> Outcome<WriteReply, Error> {
        let entity = mutation.subject.key();
        let Some(mutator) = self.mutators.find(entity) else {
            return Outcome::NotCommitted(ResolveError::Missing(entity.to_owned()).into());
        };
        // The block also catches a panic before the mutator returns its future.
        let writing = async { mutator.mutate(mutation.clone(), context.clone()).await };
        // A mutator that panics may have written.
        let written = AssertUnwindSafe(writing).catch_unwind().await;
        match written.unwrap_or_else(|payload| Outcome::unknown(panicked(payload))) {
            Outcome::Committed(written) => Outcome::Committed(self.reply(&mutation, written, context).await),
            Outcome::NotCommitted(error) => Outcome::NotCommitted(mutation.explain(error).into()),
            Outcome::Unknown(cause) => Outcome::Unknown(cause),
        }
    }

    /// Returns the reply of a committed write.
    async fn reply(&self, mutation: &Mutation, written: Written, context: &Context) -> WriteReply {
        let Written { id, created, body } = written;
        let reply = mutation.reply(&id);
        let shown = mutation.written();
        let text = if reply.is_some() { shown.id_text(&id) } else { String::new() };
        let body = match (body, reply) {
            (None, Some(plan)) => self.read(&plan, context).await.map(Some),
            (body, _) => Ok(body),
        };
        let creates = matches!(mutation.action, Action::Create { .. } | Action::CreateChild { .. });
        WriteReply {
            entity: shown.key().to_owned(),
            id: text,
            body,
            created: creates || created,
            changes: mutation.changes(&id),
        }
    }
}

impl Mutation {
    /// Replaces [`Rule::NotEmpty`] with [`Rule::Required`] if it concerns fields for which a new record has no value, and
    /// adds the other fields that need one, since databases report only the first.
    pub(crate) fn explain(&self, error: WriteError) -> WriteError {
        let WriteError::Conflict { rule: Rule::NotEmpty, fields, .. } = &error else { return error };
        if fields.is_empty() {
            return error;
        }
        let (kind, subject, parent, values) = match &self.action {
            Action::Create { values } => (WriteKind::Create, &self.subject, None, values),
            Action::CreateChild { other, values, .. } => {
                (WriteKind::Create, &other.subject, Some(&**other), values)
            }
            Action::Update { values, .. } => (WriteKind::Update, &self.subject, None, values),
            Action::Merge { update, create, .. } => {
                // The fields without a value in the body are missing in a new record, but an existing record has them.
                let is_set =
                    |field: &String| create.action.values().iter().any(|value| *value.field == **field);
                let part = if fields.iter().any(is_set) { update } else { create };
                return part.explain(error);
            }
            _ => return error,
        };
        let has_value = |name: &str| values.iter().any(|value| *value.field == *name);
        let is_missing = kind == WriteKind::Create && !fields.iter().any(|field| has_value(field));
        let rule = if is_missing { Rule::Required } else { Rule::NotEmpty };
        let empty = empty::faults(subject.entity(), kind, parent, values, |field| has_value(&field.name));
        let others = empty.into_iter().filter(|other| !fields.contains(&other.field)).collect();
        WriteError::Conflict { rule, fields: fields.clone(), others }
    }

    /// Returns the records that the mutation has written; `written` is the id of the record that the reply shows.
    pub(crate) fn changes(&self, written: &Key) -> Vec<Change> {
        let change = |subject: &GuardedEntity, id: &Key| Change::record(subject.key(), subject.id_text(id));
        let mut changes: Vec<Change> =
            self.action.id().map(|id| change(&self.subject, id)).into_iter().collect();
        if let Some(other) = self.action.other() {
            // If columns of the id store the link, the write changes the id.
            if let LinkLocation::InParent(key) = &other.link
                && key.set.iter().any(|pair| self.subject.entity().is_id_column(&pair.parent))
            {
                changes.push(Change::entity(self.subject.key()));
            }
            changes.push(match self.action.other_id() {
                Some(id) if self.reply.is_none() || id == written => change(&other.subject, id),
                Some(_) => Change::entity(other.subject.key()),
                None if self.reply.is_some() => change(&other.subject, written),
                None => Change::entity(other.subject.key()),
            });
        } else if self.reply.is_some() && self.action.id() != Some(written) {
            changes.push(change(&self.subject, written));
        }
        changes
    }
}
