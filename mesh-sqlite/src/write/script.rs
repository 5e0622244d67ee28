//! Scripts: transactions of several steps, each of which runs alone. `SPEC §18`

use std::time::Instant;

use mesh_plan::{
    CommitGate, Error, JsonBody, Key, Mutation, Plan, ResolveError, Script, ScriptError, ScriptStep,
    StepResult, Subject, Target, WriteError,
};
use mesh_sql::sqlite::{self, Param};
use rusqlite::{CachedStatement, Statement};

use super::failure::{failed, missing_references};
use super::{WriteConnection, key_of, run_statement};
use crate::cells::Bound;
use crate::read::{self, StatementTree, sort_bound};

/// The reason why a script failed.
enum Failure {
    /// A known error.
    Known(ScriptError),
    /// One of several records that were created together is the cause. It is found by creating them one by one.
    InBatch,
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        Self::Known(error)
    }
}

/// The results of the steps of a script.
pub(super) type ScriptResult = Result<Vec<StepResult>, ScriptError>;

impl WriteConnection {
    /// Runs a script in a transaction.
    pub(super) fn run_script(
        &mut self,
        script: &dyn Script,
        deadline: Instant,
        gate: &CommitGate,
    ) -> ScriptResult {
        let mut results = self.try_script(script, (deadline, gate), true);
        if let Err(Failure::InBatch) = results {
            self.rollback();
            results = self.try_script(script, (deadline, gate), false);
        }
        results.map_err(|failure| {
            self.rollback();
            match failure {
                Failure::Known(error) => error,
                Failure::InBatch => ResolveError::new("a record was created with others").into(),
            }
        })
    }

    /// Runs a script. If `many` is set, records that are alike are created together.
    fn try_script(
        &mut self,
        script: &dyn Script,
        (deadline, gate): (Instant, &CommitGate),
        many: bool,
    ) -> Result<Vec<StepResult>, Failure> {
        self.begin(deadline).map_err(|error| ScriptError::new(0, error))?;
        let mut done: Vec<StepResult> = Vec::new();
        while let Some(step) = script.next(&done).map_err(|error| ScriptError::new(done.len(), error))? {
            let (ids, bodies) = match &step {
                ScriptStep::Write(mutations) => {
                    let ids = self.write_all(mutations, done.len(), many)?;
                    let bodies = self.read_all(mutations, &ids);
                    (ids, bodies.map_err(|error| ScriptError::new(done.len(), error))?)
                }
                ScriptStep::Read { plan, lock } => {
                    let body = self.read_step(plan, lock.as_ref());
                    let body = body.map_err(|error| ScriptError::new(done.len(), error))?;
                    (Vec::new(), vec![Some(body)])
                }
                _ => {
                    let error = ResolveError::new("a script has a step of an unknown kind");
                    return Err(ScriptError::new(done.len(), error).into());
                }
            };
            if Instant::now() >= deadline {
                return Err(ScriptError::new(done.len(), ResolveError::TimedOut).into());
            }
            done.push(StepResult { step, ids, bodies, created: false });
        }
        if !gate.begin() {
            return Err(ScriptError::new(done.len(), ResolveError::TimedOut).into());
        }
        self.execute("COMMIT").map_err(|error| {
            gate.reopen();
            self.commit_failed(error, &done)
        })?;
        Ok(done)
    }

    /// Executes writes. Returns the ids of the records.
    fn write_all(&self, mutations: &[Mutation], step: usize, many: bool) -> Result<Vec<Key>, Failure> {
        let mut ids = Vec::with_capacity(mutations.len());
        while let Some(left) = mutations.get(ids.len()..).filter(|left| !left.is_empty()) {
            let item = ids.len();
            if many {
                ids.extend(self.create_alike(left, step)?);
            }
            if let (Some(mutation), true) = (left.first(), ids.len() == item) {
                let written = self.run_steps(mutation);
                ids.push(written.map_err(|error| ScriptError::of_write(step, item, mutation, error))?.id);
            }
        }
        Ok(ids)
    }

    /// Creates the records of the leading creations that are alike, and returns their ids.
    fn create_alike(&self, mutations: &[Mutation], step: usize) -> Result<Vec<Key>, Failure> {
        let failed = |error| match read::failed(error) {
            error @ (ResolveError::TimedOut | ResolveError::Busy) => ScriptError::new(step, error).into(),
            _ => Failure::InBatch,
        };
        let mut ids = Vec::new();
        let mut prepared: Option<(usize, CachedStatement<'_>)> = None;
        for run in sqlite::creation_batches(mutations) {
            let mut statement = match prepared.take() {
                Some((count, statement)) if count == run.len() => statement,
                _ => {
                    let sql = sqlite::create_many(run).unwrap_or_default();
                    self.reader.connection.prepare_cached(&sql).map_err(failed)?
                }
            };
            let created = create_run(&mut statement, run).map_err(failed)?;
            let is_permitted = self.are_permitted(run, &created).map_err(failed)?;
            if created.len() != run.len() || !is_permitted || created.iter().any(Key::is_impossible) {
                return Err(Failure::InBatch);
            }
            ids.extend(created);
            prepared = Some((run.len(), statement));
        }
        Ok(ids)
    }

    /// Returns whether all new records with these ids are a permitted result of their creation.
    fn are_permitted(&self, run: &[Mutation], ids: &[Key]) -> rusqlite::Result<bool> {
        let permitted = run.first().and_then(|first| sqlite::permitted(first.subject(), ids));
        let Some(permitted) = permitted else { return Ok(true) };
        let mut statement = self.reader.connection.prepare(&permitted.sql)?;
        let (found, _) = run_statement(&mut statement, permitted.params.iter().map(Param::value))?;
        Ok(found == ids.len())
    }

    /// Reads the replies of writes, which have the same query.
    fn read_all(&self, mutations: &[Mutation], ids: &[Key]) -> Result<Vec<Option<JsonBody>>, ResolveError> {
        let first = mutations.iter().zip(ids).next();
        let Some(plan) = first.and_then(|(mutation, id)| mutation.reply(id)) else {
            return Ok(vec![None; ids.len()]);
        };
        let bodies = if Key::consecutive(ids).is_some() {
            // A range of ids is read in one run, and its statement does not depend on their number.
            let of_all = plan.for_records(ids);
            let found = self.prepare(&of_all)?.run_records(&of_all, ids)?;
            found.into_iter().map(|body| body.unwrap_or_else(|| plan.empty())).collect()
        } else {
            self.prepare(&plan)?.run_each(&plan, ids)?
        };
        Ok(bodies.into_iter().map(Some).collect())
    }

    fn prepare(&self, plan: &Plan) -> Result<StatementTree<'_>, ResolveError> {
        let statements = read::lower(&self.reader, plan);
        sort_bound::check(&self.reader, plan, &statements)?;
        StatementTree::prepare(&self.reader.connection, &statements).map_err(read::failed)
    }

    /// Reads a record. No other connection writes during the transaction, so a lock is only a check.
    fn read_step(&self, plan: &Plan, lock: Option<&Subject>) -> Result<JsonBody, Error> {
        let id = match plan.target() {
            Target::Point(id) => Some(id),
            Target::Collection => None,
        };
        match (id, lock) {
            (Some(id), Some(subject)) if !id.is_impossible() => {
                let statement = sqlite::find(subject, id);
                let prepared = self.reader.connection.prepare(&statement.sql);
                let values = statement.params.iter().map(Param::value);
                let found = prepared.and_then(|mut it| run_statement(&mut it, values));
                if found.map_err(read::failed)?.0 == 0 {
                    return Err(subject.not_found(id).into());
                }
            }
            (Some(id), Some(subject)) => return Err(subject.not_found(id).into()),
            _ => {}
        }
        if id.is_some_and(Key::is_impossible) {
            return Ok(plan.empty());
        }
        Ok(self.prepare(plan)?.run(plan)?)
    }

    /// Converts the error of a commit, which reports a deferred constraint. The cause is the first write that refers to
    /// a missing record, or else the last write.
    fn commit_failed(&self, error: rusqlite::Error, done: &[StepResult]) -> ScriptError {
        let connection = &self.reader.connection;
        let writes = || {
            let steps = done.iter().enumerate().filter_map(|(step, result)| match &result.step {
                ScriptStep::Write(mutations) => Some((step, mutations)),
                _ => None,
            });
            steps.flat_map(|(step, mutations)| {
                mutations.iter().enumerate().map(move |(item, mutation)| (step, item, mutation))
            })
        };
        let cause = writes().find(|(.., mutation)| !missing_references(mutation, connection).is_empty());
        match cause.or_else(|| writes().last()) {
            Some((step, item, mutation)) => {
                ScriptError::of_write(step, item, mutation, failed(error, mutation, connection))
            }
            None => ScriptError::new(0, WriteError::from(read::failed(error))),
        }
    }
}

/// Creates records with one statement, and returns their ids.
fn create_run(statement: &mut Statement<'_>, run: &[Mutation]) -> rusqlite::Result<Vec<Key>> {
    let values = run.iter().flat_map(|mutation| mutation.action().values());
    for (index, assigned) in (1..).zip(values) {
        statement.raw_bind_parameter(index, Bound(assigned.value.as_ref()))?;
    }
    let (width, mut ids) = (statement.column_count(), Vec::with_capacity(run.len()));
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        ids.push(key_of(row, width));
    }
    Ok(ids)
}
