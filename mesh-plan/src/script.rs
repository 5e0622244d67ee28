//! Scripts: several writes and reads that a storage runs in one transaction. `SPEC §18`

use std::collections::HashSet;
use std::sync::Arc;

use crate::mutation::{GuardedEntity, Mutation, Written};
use crate::plan::Plan;
use crate::{Change, Error, JsonBody, Key, ResolveError, WriteError};

/// The steps of a transaction, each of which may depend on the results of those before it.
///
/// If a concurrent transaction conflicts, the storage rolls back and starts again. A script must therefore return the same
/// next step for the same results, and must not have side effects.
pub trait Script: Send + Sync + 'static {
    /// Returns the step after the completed ones, or `None` at the end. The transaction is then committed.
    ///
    /// # Errors
    /// The transaction has to be rolled back.
    fn next(&self, done: &[StepResult]) -> Result<Option<ScriptStep>, Error>;

    /// Returns the plan of the step with this index, if it is a read that does not depend on the results of earlier steps. A
    /// storage may then run it along with the read before it.
    fn read_ahead(&self, step: usize) -> Option<Plan> {
        let _ = step;
        None
    }
}

/// A step of a transaction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ScriptStep {
    /// Executes writes in this order, and reads their replies. If there are several, all create records of one entity, and their
    /// replies have the same query.
    Write(Arc<[Mutation]>),
    /// Reads a record or a collection.
    Read {
        /// The plan of the read.
        plan: Plan,
        /// If set, the record must fulfill [`GuardedEntity::guard`], and other transactions cannot write it before this one ends.
        lock: Option<GuardedEntity>,
    },
}

/// A step of a transaction, and its results.
#[derive(Debug)]
pub struct StepResult {
    /// The step.
    pub step: ScriptStep,
    /// For each write, the id of the record that its reply shows.
    pub ids: Vec<Key>,
    /// For a write, the reply of each mutation, or `None` for a reply without a body; for a read, its response.
    pub bodies: Vec<Option<JsonBody>>,
    /// Whether an [`crate::mutation::Action::Merge`] has created its record.
    pub created: bool,
}

impl StepResult {
    /// Returns the bodies that exist.
    pub fn bodies(&self) -> impl Iterator<Item = &JsonBody> {
        self.bodies.iter().flatten()
    }

    /// Refuses results that together have more objects or bytes than these bounds. `SPEC §3.11`
    ///
    /// # Errors
    /// [`ResolveError::TooLarge`] and [`ResolveError::TooManyBytes`].
    pub fn check_size(results: &[Self], rows_max: usize, bytes_max: usize) -> Result<(), ResolveError> {
        let bodies = || results.iter().flat_map(Self::bodies);
        if bodies().map(|body| body.rows).sum::<usize>() > rows_max {
            return Err(ResolveError::TooLarge { rows: rows_max });
        }
        if bodies().map(|body| body.bytes.len()).sum::<usize>() > bytes_max {
            return Err(ResolveError::TooManyBytes { bytes: bytes_max });
        }
        Ok(())
    }

    /// Returns the records that the step has written.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let ScriptStep::Write(mutations) = &self.step else { return Vec::new() };
        mutations.iter().zip(&self.ids).flat_map(|(mutation, id)| mutation.changes(id)).collect()
    }
}

/// Runs a script of reads, each with `read`, which must read from one snapshot.
///
/// # Errors
/// Those of the script and of its reads.
pub fn run_reads(
    script: &dyn Script,
    mut read: impl FnMut(&Plan) -> Result<JsonBody, ResolveError>,
) -> Result<Vec<StepResult>, ScriptError> {
    let mut done: Vec<StepResult> = Vec::new();
    loop {
        let number = done.len();
        let next = script.next(&done).map_err(|error| ScriptError::of_next(number, error))?;
        let Some(step) = next else { return Ok(done) };
        let failed = |error| ScriptError::new(number, error);
        let ScriptStep::Read { plan, .. } = &step else {
            return Err(failed(ResolveError::new("a script of reads has a write")));
        };
        let bodies = vec![Some(plan.known_body().map_or_else(|| read(plan), Ok).map_err(failed)?)];
        done.push(StepResult { step, ids: Vec::new(), bodies, created: false });
    }
}

/// The failure of a transaction. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[error("step {step} of a transaction failed")]
pub struct ScriptError {
    /// The step that failed.
    pub step: usize,
    /// The write of the step that failed, if it is known and the step has several.
    pub item: Option<usize>,
    /// The failure.
    #[source]
    pub error: Box<Error>,
}

impl ScriptError {
    /// Creates the failure of a step.
    pub fn new(step: usize, error: impl Into<Error>) -> Self {
        Self { step, item: None, error: Box::new(error.into()) }
    }

    /// Creates the failure of a script that was asked for this step. Results that exceed a bound are those of the step before.
    pub fn of_next(step: usize, error: Error) -> Self {
        let exceeds = matches!(
            &error,
            Error::Resolve(ResolveError::TooLarge { .. } | ResolveError::TooManyBytes { .. })
        );
        Self::new(if exceeds { step.saturating_sub(1) } else { step }, error)
    }

    /// Sets the write of the step that failed.
    #[must_use]
    pub fn at_item(self, item: usize) -> Self {
        Self { item: Some(item), ..self }
    }

    /// Creates the failure of a write of a step.
    pub fn of_write(step: usize, item: usize, mutation: &Mutation, error: WriteError) -> Self {
        Self::new(step, mutation.explain(error)).at_item(item)
    }
}

impl From<ResolveError> for ScriptError {
    fn from(error: ResolveError) -> Self {
        Self::new(0, error)
    }
}

impl From<ScriptError> for WriteError {
    fn from(failure: ScriptError) -> Self {
        match *failure.error {
            Error::Write(error) => error,
            Error::Resolve(error) => error.into(),
            error => Self::new(error),
        }
    }
}

/// A single write as a script.
pub(crate) struct SingleWrite(Arc<[Mutation]>);

impl SingleWrite {
    pub(crate) fn new(mutation: Mutation) -> Self {
        Self(Arc::from([mutation]))
    }

    /// Returns the result of the write.
    pub(crate) fn result(results: Vec<StepResult>) -> Written {
        let Some(mut done) = results.into_iter().next() else { return Written::default() };
        let id = done.ids.pop().unwrap_or_default();
        Written { id, created: done.created, body: done.bodies.pop().flatten() }
    }
}

impl Script for SingleWrite {
    fn next(&self, done: &[StepResult]) -> Result<Option<ScriptStep>, Error> {
        Ok(done.is_empty().then(|| ScriptStep::Write(Arc::clone(&self.0))))
    }
}

/// Returns all changes of a transaction once.
pub(crate) fn changes(done: &[StepResult]) -> Vec<Change> {
    let all: Vec<Change> = done.iter().flat_map(StepResult::changes).collect();
    let mut seen = HashSet::with_capacity(all.len());
    all.iter().filter(|change| seen.insert(*change)).cloned().collect()
}
