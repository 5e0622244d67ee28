//! Writes that need a transaction of several statements: of several records, or under a condition. `SPEC §18`

#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::by_entity::ByEntity;
use super::{Mesh, panicked};
use crate::error::WriteFault;
use crate::mutation::{Action, Fields, Mutation, Outcome, WriteReply};
use crate::plan::{Plan, ReadTarget};
use crate::planner::write::{CreatePlanner, WriteRequest};
use crate::script::{self, Script, ScriptError, ScriptStep, StepResult};
use crate::{Change, Context, Error, JsonBody, PlanError, WriteError};

/// The state of a record that a write requires. `SPEC §18.3`
#[derive(Clone, Debug)]
pub struct Expected {
    /// The read of the record.
    plan: Plan,
    /// The digests of the bodies that it may have ([`JsonBody::digest`]); `None` if the record only has to exist.
    digests: Option<Vec<u128>>,
}

/// The results of a committed transaction.
#[derive(Debug)]
pub struct Transacted {
    /// The results of the steps.
    pub results: Vec<StepResult>,
    /// The written records, each once.
    pub changes: Vec<Change>,
}

impl Mesh {
    /// Plans the check of the record that a planned write updates or deletes. If `digests` is set, the body of the record's
    /// point read with the query of the reply must have one of the digests; otherwise the record must exist.
    ///
    /// # Errors
    /// Those of [`Mesh::plan_write`], and [`WriteFault::NotConditional`] for any other write.
    pub fn plan_expected(
        &self,
        request: &WriteRequest<'_>,
        mutation: &Mutation,
        digests: Option<Vec<u128>>,
    ) -> Result<Expected, Error> {
        let subject = &mutation.subject;
        let (Action::Update { id, .. } | Action::Delete { id }) = &mutation.action else {
            return Err(PlanError::new(WriteFault::NotConditional, subject.key()).into());
        };
        let plan = self.plan_reply(subject, request)?;
        Ok(Expected { plan: Plan { target: ReadTarget::Point(id.clone()), ..plan }, digests })
    }

    /// Executes a write if the record is as expected, and reads its reply, in one transaction. It fails with
    /// [`WriteError::Changed`] if the record is not as expected.
    pub async fn write_if(
        &self,
        mutation: Mutation,
        expected: Expected,
        context: &Context,
    ) -> Outcome<WriteReply, Error> {
        let subject = mutation.subject.clone();
        let script = ConditionalWrite { mutation, expected };
        let done = self.transact(&[subject.key()], Arc::new(script), context).await;
        let reply = |Transacted { mut results, changes }| {
            let (id, body) = match results.pop() {
                Some(StepResult { mut ids, mut bodies, .. }) => (ids.pop(), bodies.pop().flatten()),
                None => (None, None),
            };
            let id = id.filter(|_| body.is_some()).map(|id| subject.id_text(&id)).unwrap_or_default();
            WriteReply { entity: subject.key().to_owned(), id, body: Ok(body), created: false, changes }
        };
        done.map(reply).map_err(|failure: ScriptError| *failure.error)
    }

    /// Creates several records of the entity of a request in one transaction. The errors are those of [`Mesh::plan_write`] and
    /// of [`Mesh::transact`] for the first record that fails. The item of the error is the index of that record. `SPEC §18.1`
    pub async fn create_all(
        &self,
        request: &WriteRequest<'_>,
        records: &[Fields<'_>],
        context: &Context,
    ) -> Outcome<Transacted, ScriptError> {
        let (mut mutations, invalid) = match self.plan_creates(request, records) {
            Ok(planned) => planned,
            Err(error) => return Outcome::NotCommitted(error),
        };
        if invalid.is_some() {
            // The transaction is rolled back, so no reply is needed.
            mutations.iter_mut().for_each(|mutation| mutation.reply = None);
        }
        let Some(first) = mutations.first() else {
            return invalid.map_or(Ok(Transacted { results: Vec::new(), changes: Vec::new() }), Err).into();
        };
        let entity = first.subject.key().to_owned();
        let script = CreateScript { mutations: mutations.into(), is_trial: invalid.is_some() };
        let created = self.transact(&[&entity], Arc::new(script), context).await;
        match (created, invalid) {
            // The records before the invalid one can be created.
            (Outcome::NotCommitted(ScriptError { step: 1, .. }), Some(invalid)) => {
                Outcome::NotCommitted(invalid)
            }
            (created, _) => created,
        }
    }

    /// Plans creations up to the first invalid one. The outer error concerns the request and not a single record.
    fn plan_creates(
        &self,
        request: &WriteRequest<'_>,
        records: &[Fields<'_>],
    ) -> Result<(Vec<Mutation>, Option<ScriptError>), ScriptError> {
        let view = self.views.find(request.principal);
        let of_request = |error: Error| ScriptError::new(0, error);
        let mut planner = CreatePlanner::new(&view, request).map_err(|error| of_request(error.into()))?;
        let reply = Arc::new(self.plan_reply(planner.subject(), request).map_err(of_request)?);
        let mut planned: Vec<Mutation> = Vec::with_capacity(records.len());
        for (item, fields) in records.iter().enumerate() {
            match planner.plan(fields) {
                Ok((action, references)) => {
                    let (subject, reply) = (planner.subject().clone(), Some(Arc::clone(&reply)));
                    planned.push(Mutation { subject, action, references, reply });
                }
                Err(error) => return Ok((planned, Some(ScriptError::new(0, error).at_item(item)))),
            }
        }
        Ok((planned, None))
    }

    /// Runs a script over these entities in one transaction. It fails with [`WriteFault::NoTransactions`] if the mutator has
    /// none, with [`WriteFault::OtherStorage`] if the entities do not share a mutator, and with errors of the script and of the
    /// mutator.
    pub async fn transact(
        &self,
        entities: &[&str],
        script: Arc<dyn Script>,
        context: &Context,
    ) -> Outcome<Transacted, ScriptError> {
        let mutator = match shared(&self.mutators, entities) {
            Ok(mutator) => mutator,
            Err(refused) => return Outcome::NotCommitted(refused),
        };
        let script = BoundedScript { script, rows: self.limits.rows, bytes: self.limits.response_bytes };
        // The block also catches a panic before the mutator returns its future.
        let running = async {
            match mutator.transact(Arc::new(script), context.clone()) {
                Some(running) => running.await,
                None => Outcome::NotCommitted(no_transactions(entities)),
            }
        };
        // A mutator that panics may have written.
        let done = AssertUnwindSafe(running).catch_unwind().await;
        let done = done.unwrap_or_else(|payload| Outcome::unknown(panicked(payload)));
        done.map(|results: Vec<StepResult>| Transacted { changes: script::changes(&results), results })
    }

    /// Runs a script of reads over these entities, all from one snapshot.
    ///
    /// # Errors
    /// [`WriteFault::NoTransactions`] if the resolver has no snapshots, [`WriteFault::OtherStorage`] if the entities do not
    /// share a resolver, and errors of the script and of the resolver.
    pub async fn read_script(
        &self,
        entities: &[&str],
        script: Arc<dyn Script>,
        context: &Context,
    ) -> Result<Vec<StepResult>, ScriptError> {
        let resolver = shared(&self.resolvers, entities)?;
        let script = BoundedScript { script, rows: self.limits.rows, bytes: self.limits.response_bytes };
        let running = async {
            let running = resolver.read_script(Arc::new(script), context);
            running.ok_or_else(|| no_transactions(entities))?.await
        };
        AssertUnwindSafe(running).catch_unwind().await.map_err(panicked)?
    }
}

/// Returns the handler that all entities of a script share. Fails at the step of the first entity that has another one.
fn shared<'h, T: ?Sized>(handlers: &'h ByEntity<T>, entities: &[&str]) -> Result<&'h Arc<T>, ScriptError> {
    let other = entities.first().copied().unwrap_or_default();
    let handler = handlers.find(other).ok_or_else(|| no_transactions(entities))?;
    for (step, entity) in entities.iter().enumerate() {
        if !handlers.find(entity).is_some_and(|it| Arc::ptr_eq(handler, it)) {
            let fault = WriteFault::OtherStorage { entity: (*entity).to_owned(), other: other.to_owned() };
            return Err(ScriptError::new(step, PlanError::new(fault, other)));
        }
    }
    Ok(handler)
}

fn no_transactions(entities: &[&str]) -> ScriptError {
    let entity = entities.first().copied().unwrap_or_default();
    ScriptError::new(0, PlanError::new(WriteFault::NoTransactions { entity: entity.to_owned() }, entity))
}

/// A write that requires a state of its record.
struct ConditionalWrite {
    mutation: Mutation,
    expected: Expected,
}

impl Script for ConditionalWrite {
    fn next(&self, done: &[StepResult]) -> Result<Option<ScriptStep>, Error> {
        match done {
            [] => {
                let plan = self.expected.plan.clone();
                Ok(Some(ScriptStep::Read { plan, lock: Some(self.mutation.subject.clone()) }))
            }
            [read] => {
                self.check(read)?;
                Ok(Some(ScriptStep::Write(Arc::from([self.mutation.clone()]))))
            }
            _ => Ok(None),
        }
    }
}

impl ConditionalWrite {
    fn check(&self, read: &StepResult) -> Result<(), WriteError> {
        let subject = &self.mutation.subject;
        let body = read.bodies().next().filter(|body| body.rows > 0);
        // The record can be written, but is hidden.
        let Some(body) = body else {
            return Err(subject.not_found(&self.mutation.action.id().cloned().unwrap_or_default()));
        };
        let is_expected = |digests: &Vec<u128>| {
            let digest = body.digest.unwrap_or_else(|| JsonBody::digest(&body.bytes));
            digests.contains(&digest)
        };
        if self.expected.digests.as_ref().is_none_or(is_expected) { Ok(()) } else { Err(WriteError::Changed) }
    }
}

/// The creation of several records.
struct CreateScript {
    mutations: Arc<[Mutation]>,
    /// Whether the transaction is rolled back in the end, because a later record is invalid.
    is_trial: bool,
}

impl Script for CreateScript {
    fn next(&self, done: &[StepResult]) -> Result<Option<ScriptStep>, Error> {
        match done {
            [] => Ok(Some(ScriptStep::Write(Arc::clone(&self.mutations)))),
            _ if self.is_trial => Err(WriteError::Refused("A later record is invalid".to_owned()).into()),
            _ => Ok(None),
        }
    }
}

/// A script whose results have the bounds of a read.
struct BoundedScript {
    script: Arc<dyn Script>,
    rows: usize,
    bytes: usize,
}

impl Script for BoundedScript {
    fn next(&self, done: &[StepResult]) -> Result<Option<ScriptStep>, Error> {
        StepResult::check_size(done, self.rows, self.bytes)?;
        self.script.next(done)
    }

    fn read_ahead(&self, step: usize) -> Option<Plan> {
        self.script.read_ahead(step)
    }
}
