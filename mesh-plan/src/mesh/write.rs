//! Planning and execution of writes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use mesh_ql::{Query, ReadNode, Selection};

use super::{Mesh, Request, panicked};
use crate::mutation::{Action, Mutation, Subject, WriteOutcome};
use crate::plan::{Plan, Target};
use crate::planner::write::WriteRequest;
use crate::planner::{self, Kind};
use crate::{Change, Context, Error, JsonBody, PlanError, Rule, Value, WriteError, WriteFault};

/// What a write has come to.
#[derive(Clone, Debug)]
pub struct WriteReply {
    /// The entity of the record that the reply shows.
    pub entity: String,
    /// Its id as it stands in a URL, before it is encoded for one; empty where the reply shows none.
    pub id: String,
    /// The record, in the shape asked for; `None` where the reply has no body.
    pub body: Option<JsonBody>,
    /// The records that were written, for those who watch them.
    pub changes: Vec<Change>,
}

impl Mesh {
    /// Checks a write against the schema and plans its reply. Only fields, and entities, that are `writable`
    /// and have a mutator are ever written. `SPEC §11`
    ///
    /// # Errors
    /// [`Error::Syntax`] and [`Error::Plan`] as for reads, and [`WriteError::NotFound`] for an id that no
    /// record can have.
    pub fn plan_write(&self, request: &WriteRequest<'_>) -> Result<Mutation, Error> {
        let view = self.views.of(request.principal);
        let (subject, action) = planner::write::plan(&view, request)?;
        if self.mutators.find(subject.key()).is_none() {
            let entity = subject.key().to_owned();
            return Err(PlanError::new(WriteFault::EntityNotWritable { entity }, subject.key()).into());
        }
        let shown = match &action {
            Action::Create { .. } | Action::Update { .. } => Some(&subject),
            Action::CreateChild { other, .. } | Action::Connect { other, .. } => Some(&other.subject),
            _ => None,
        };
        let reply = shown.map(|shown| self.plan_reply(shown, request)).transpose()?;
        Ok(Mutation { subject, action, reply })
    }

    /// The read of the record that the reply shows; which one is known when it was written.
    fn plan_reply(&self, shown: &Subject, request: &WriteRequest<'_>) -> Result<Plan, Error> {
        let target = Target::Point(Value::Null);
        if let Some(query) = request.reply {
            let read = Request::new(query).with_id("").of_entity(shown.key()).by(request.principal);
            return Ok(Plan { target, ..self.plan(&read)? });
        }
        let entity = shown.entity();
        let fields = entity.fields.iter().filter(|field| entity.member(&field.name).is_some());
        let select = fields.map(|field| Selection::Field(field.name.as_str().into())).collect();
        let root = ReadNode { select, ..ReadNode::default() };
        let query = Query { entity: shown.key().into(), root };
        let view = self.views.of(request.principal);
        let root = planner::plan(&view, &self.limits, &self.cursors, &query, Kind::Point)?;
        let session = root.session(request.principal);
        Ok(Plan { query: Arc::new(root), target, session, after: None })
    }

    /// Carries out a write and returns what it shows.
    ///
    /// # Errors
    /// Whatever the mutator meets, a panic included. Where reading the reply fails after the write was done,
    /// that is the error.
    pub async fn write(&self, mutation: Mutation, context: &Context) -> Result<WriteReply, WriteError> {
        let entity = mutation.subject.key();
        let mutator = self.mutators.find(entity);
        let mutator = mutator.ok_or_else(|| crate::ResolveError::Missing(entity.to_owned()))?;
        // A panic of the mutator ends this write only, whether it comes before its future or out of it.
        let writing = async { mutator.mutate(mutation.clone(), context.clone()).await };
        let written = AssertUnwindSafe(writing).catch_unwind().await.map_err(panicked)?;
        let written = written.map_err(|error| mutation.explain(error))?;
        let (shown, changes) = (mutation.written(), mutation.changes(&written.id));
        let WriteOutcome { id, body } = written;
        let body = match (body, mutation.reply(&id)) {
            (Some(body), _) => Some(body),
            (None, Some(plan)) => Some(self.read(&plan, context).await?),
            (None, None) => None,
        };
        let text = if mutation.has_reply() { shown.id_text(&id) } else { String::new() };
        Ok(WriteReply { entity: shown.key().to_owned(), id: text, body, changes })
    }
}

impl Mutation {
    /// Replaces the rule that values are not NULL by [`Rule::Required`] for fields that a new record has no value of.
    fn explain(&self, error: WriteError) -> WriteError {
        let (Action::Create { values } | Action::CreateChild { values, .. }) = &self.action else {
            return error;
        };
        let is_missing = |field: &String| values.iter().all(|value| value.field != *field);
        match error {
            WriteError::Conflict { rule: Rule::NotEmpty, fields }
                if !fields.is_empty() && fields.iter().all(is_missing) =>
            {
                WriteError::Conflict { rule: Rule::Required, fields }
            }
            error => error,
        }
    }

    /// The records that it writes, once it has written the one with that id.
    fn changes(&self, written: &Value) -> Vec<Change> {
        let change = |subject: &Subject, id: &Value| Change::record(subject.key(), subject.id_text(id));
        let mut changes: Vec<Change> =
            self.action.id().map(|id| change(&self.subject, id)).into_iter().collect();
        if let Some(other) = self.action.other() {
            changes.push(match self.action.other_id() {
                Some(id) => change(&other.subject, id),
                None if self.has_reply() => change(&other.subject, written),
                None => Change::entity(other.subject.key()),
            });
        } else if self.has_reply() && self.action.id() != Some(written) {
            changes.push(change(&self.subject, written));
        }
        changes
    }
}
