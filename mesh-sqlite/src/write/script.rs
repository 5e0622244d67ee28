//! Scripts: transactions of several steps, each of which runs alone. `SPEC §18`

use std::time::Instant;

use mesh_plan::sql::sqlite::{self, Param};
use mesh_plan::{
    Error, JsonBody, Key, Mutation, Plan, ResolveError, Rule, Script, ScriptError, ScriptStep, StepResult,
    Subject, Target, WriteError,
};
use rusqlite::Statement;

use super::failure::{failed, missing_references};
use super::{WriteConnection, run_statement, written_id};
use crate::read::{self, StatementTree, sort_bound};

/// The results of the steps of a script.
pub(super) type Scripted = Result<Vec<StepResult>, ScriptError>;

impl WriteConnection {
    /// Runs a script in a transaction.
    pub(super) fn run_script(&mut self, script: &dyn Script, deadline: Instant) -> Scripted {
        let results = self.try_script(script, deadline);
        if results.is_err() {
            self.rollback();
        }
        results
    }

    fn try_script(&mut self, script: &dyn Script, deadline: Instant) -> Scripted {
        self.begin(deadline).map_err(|error| ScriptError::new(0, error))?;
        let mut done: Vec<StepResult> = Vec::new();
        while let Some(step) = script.next(&done).map_err(|error| ScriptError::new(done.len(), error))? {
            let (ids, bodies) = match &step {
                ScriptStep::Write(mutations) => self.write_all(mutations, done.len())?,
                ScriptStep::Read { plan, lock } => {
                    let body = self.read_step(plan, lock.as_ref());
                    let body = body.map_err(|error| ScriptError::new(done.len(), error))?;
                    (Vec::new(), vec![Some(body)])
                }
                _ => {
                    let error = ResolveError::new("a script has a step of an unknown kind");
                    return Err(ScriptError::new(done.len(), error));
                }
            };
            if Instant::now() >= deadline {
                return Err(ScriptError::new(done.len(), ResolveError::TimedOut));
            }
            done.push(StepResult { step, ids, bodies });
        }
        self.execute("COMMIT").map_err(|error| self.commit_failed(error, &done))?;
        Ok(done)
    }

    /// Executes writes, and reads their replies.
    fn write_all(
        &self,
        mutations: &[Mutation],
        step: usize,
    ) -> Result<(Vec<Key>, Vec<Option<JsonBody>>), ScriptError> {
        let mut ids = Vec::with_capacity(mutations.len());
        while let Some(mutation) = mutations.get(ids.len()) {
            let left = mutations.get(ids.len()..).unwrap_or_default();
            let Some((sql, runs)) = sqlite::create_each(left) else {
                let written = self.run_steps(mutation);
                ids.push(
                    written.map_err(|error| ScriptError::of_write(step, ids.len(), mutation, error))?.id,
                );
                continue;
            };
            let prepared = self.reader.connection.prepare(&sql).map_err(read::failed);
            let mut prepared = prepared.map_err(|error| ScriptError::new(step, error))?;
            for (mutation, params) in left.iter().zip(runs) {
                let created = self.create(&mut prepared, mutation, &params);
                ids.push(created.map_err(|error| ScriptError::of_write(step, ids.len(), mutation, error))?);
            }
        }
        let plans: Vec<_> = mutations.iter().zip(&ids).map(|(mutation, id)| mutation.reply(id)).collect();
        let failed = |(item, error): (usize, ResolveError)| ScriptError::new(step, error).at_item(item);
        Ok((ids, self.read_all(&plans).map_err(failed)?))
    }

    /// Creates a record by a statement that creates one.
    fn create(
        &self,
        statement: &mut Statement<'_>,
        mutation: &Mutation,
        params: &[Param],
    ) -> Result<Key, WriteError> {
        let created = run_statement(statement, params, &Key::default());
        let (rows, id) = created.map_err(|error| failed(error, mutation, &self.reader.connection))?;
        if rows == 0 {
            return Err(WriteError::conflict(Rule::Other));
        }
        written_id(id, mutation)
    }

    /// Reads records with plans that usually have the same query. An error comes with the index of its plan.
    fn read_all(&self, plans: &[Option<Plan>]) -> Result<Vec<Option<JsonBody>>, (usize, ResolveError)> {
        let mut bodies = Vec::with_capacity(plans.len());
        let mut prepared: Option<(&Plan, StatementTree<'_>)> = None;
        for (item, plan) in plans.iter().enumerate() {
            let Some(plan) = plan else {
                bodies.push(None);
                continue;
            };
            if prepared.as_ref().is_none_or(|(known, _)| known.id() != plan.id()) {
                prepared = Some((plan, self.prepare(plan).map_err(|error| (item, error))?));
            }
            if let Some((_, tree)) = &mut prepared {
                bodies.push(Some(tree.run(plan).map_err(|error| (item, error))?));
            }
        }
        Ok(bodies)
    }

    fn prepare(&self, plan: &Plan) -> Result<StatementTree<'_>, ResolveError> {
        let statements = read::lower(&self.reader, plan);
        sort_bound::check(&self.reader, plan, &statements)?;
        StatementTree::prepare(&self.reader.connection, &statements).map_err(read::failed)
    }

    /// Reads a record. No other connection writes during the transaction, so a lock is a check only.
    fn read_step(&self, plan: &Plan, lock: Option<&Subject>) -> Result<JsonBody, Error> {
        let id = match plan.target() {
            Target::Point(id) => Some(id),
            Target::Collection => None,
        };
        match (id, lock) {
            (Some(id), Some(subject)) if !id.is_impossible() => {
                let statement = sqlite::find(subject, id);
                let prepared = self.reader.connection.prepare(&statement.sql);
                let found = prepared.and_then(|mut it| run_statement(&mut it, &statement.params, id));
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

    /// Converts the error of a commit, which is that of a deferred constraint: the first write that refers to no record
    /// is its cause, or else the last one.
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
