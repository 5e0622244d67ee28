//! Scripts: transactions of several steps. `SPEC §18`

use mesh_plan::backend::{Failure, Script, ScriptError, ScriptStep, StepResult};
use mesh_plan::{JsonBody, Key, Mutation, Plan, ResolveError, Subject, Target, WriteError};
use mesh_sql::Statement;
use mesh_sql::mysql::{self, Param, ReadStatement};
use mysql_async::{Error, Row};

use super::failure::{failure_by, is_transient, resolve_error};
use super::{Writer, key_of, params};
use crate::cells::{LevelRows, NodeRowSource};
use crate::pool::PoolError;
use crate::pool::link::Link;
use crate::pool::row_budget::RowBudget;
use crate::pool::statements::bytes_of_tables;
use crate::read;

/// The result of a step: the ids of the written records, the bodies, and whether a merge has created its record.
type StepOutput = (Vec<Key>, Vec<Option<JsonBody>>, bool);

impl Writer {
    /// Runs the steps of a script inside the transaction.
    pub(super) async fn run_all(
        &self,
        link: &mut Link,
        script: &dyn Script,
    ) -> Result<Vec<StepResult>, Failure<ScriptError>> {
        let mut done: Vec<StepResult> = Vec::new();
        loop {
            let number = done.len();
            let next = script.next(&done).map_err(|error| Failure::Final(ScriptError::new(number, error)))?;
            let Some(step) = next else { return Ok(done) };
            let (ids, bodies, created) = match &step {
                ScriptStep::Write(mutations) => self.write_all(link, mutations, number).await?,
                ScriptStep::Read { plan, lock } => {
                    if let Some(subject) = lock {
                        self.lock(link, plan, subject, number).await?;
                    }
                    let body = self.read_on(link, plan).await;
                    let body = body.map_err(|it| it.map(|error| ScriptError::new(number, error)))?;
                    (Vec::new(), vec![Some(body)], false)
                }
                _ => {
                    let error = ResolveError::new("a script has a step of an unknown kind");
                    return Err(Failure::Final(ScriptError::new(number, error)));
                }
            };
            done.push(StepResult { step, ids, bodies, created });
        }
    }

    /// Locks the record of a point read.
    async fn lock(
        &self,
        link: &mut Link,
        plan: &Plan,
        subject: &Subject,
        step: usize,
    ) -> Result<(), Failure<ScriptError>> {
        let Target::Point(id) = plan.target() else { return Ok(()) };
        let is_found = !id.is_impossible() && {
            let statement = mysql::lock(subject, id, self.statements.product);
            let found = query(link, &statement, id).await;
            !found.map_err(|error| at_step(step, &error))?.is_empty()
        };
        if is_found {
            return Ok(());
        }
        Err(Failure::Final(ScriptError::new(step, subject.not_found(id))))
    }

    /// Executes writes, and reads their replies.
    async fn write_all(
        &self,
        link: &mut Link,
        mutations: &[Mutation],
        step: usize,
    ) -> Result<StepOutput, Failure<ScriptError>> {
        let (mut ids, mut merged) = (Vec::with_capacity(mutations.len()), false);
        while let Some(left) = mutations.get(ids.len()..).filter(|left| !left.is_empty()) {
            let count = match mysql::create_many(left, self.statements.product) {
                Some((statement, count)) => {
                    let alike = left.get(..count).unwrap_or_default();
                    let created = self.create_many(link, &statement, alike).await;
                    if let Some(created) = created.map_err(|error| at_step(step, &error))? {
                        ids.extend(created);
                        continue;
                    }
                    count
                }
                None => 1,
            };
            for (item, mutation) in mutations.iter().enumerate().skip(ids.len()).take(count) {
                let written = self.run_steps(link, mutation).await;
                let written = written.map_err(|failure| of_write(failure, step, item, mutation))?;
                ids.push(written.id);
                merged |= written.created;
            }
        }
        let bodies = self.read_replies(link, mutations, &ids).await;
        let failed = |(item, failure): (usize, Failure<ResolveError>)| {
            failure.map(|error| ScriptError::new(step, error).at_item(item))
        };
        Ok((ids, bodies.map_err(failed)?, merged))
    }

    /// Creates records with one statement. Returns `None` if this fails because one of them cannot be created; its
    /// error is then found by creating them one by one.
    async fn create_many(
        &self,
        link: &mut Link,
        statement: &Statement<Param>,
        alike: &[Mutation],
    ) -> Result<Option<Vec<Key>>, Error> {
        link.execute("SAVEPOINT many").await?;
        let (ended, ids) = match self.try_create(link, statement, alike).await {
            Ok(Some(ids)) => ("RELEASE SAVEPOINT many", Some(ids)),
            Err(error) if is_transient(&error) => return Err(error),
            Ok(None) | Err(_) => ("ROLLBACK TO SAVEPOINT many", None),
        };
        link.execute(ended).await?;
        Ok(ids)
    }

    /// Creates records with one statement. Returns `None` if it did not create all of them, or if one of them is not a
    /// permitted result.
    async fn try_create(
        &self,
        link: &mut Link,
        statement: &Statement<Param>,
        alike: &[Mutation],
    ) -> Result<Option<Vec<Key>>, Error> {
        let rows = query(link, statement, &Key::default()).await?;
        let ids: Vec<Key> = rows.iter().map(key_of).collect();
        let Some(first) = alike.first() else { return Ok(None) };
        if ids.len() != alike.len() || ids.iter().any(Key::is_impossible) {
            return Ok(None);
        }
        if let Some(permitted) = mysql::permitted(first.subject(), &ids, self.statements.product) {
            let permitted = query(link, &permitted, &Key::default()).await?;
            return Ok((permitted.len() == ids.len()).then_some(ids));
        }
        Ok(Some(ids))
    }

    /// Reads the replies of writes. The replies of several writes are read at once. An error comes with the index of
    /// its write.
    async fn read_replies(
        &self,
        link: &mut Link,
        mutations: &[Mutation],
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, (usize, Failure<ResolveError>)> {
        let mut bodies = vec![None; mutations.len()];
        if let ([first, _, ..], [id, ..]) = (mutations, ids)
            && let Some(plan) = first.reply(id)
        {
            bodies = self.read_records(link, &plan, ids).await.map_err(|error| (0, error))?;
        }
        for (item, (mutation, id)) in mutations.iter().zip(ids).enumerate() {
            if let Some(plan) = mutation.reply(id)
                && let Some(body) = bodies.get_mut(item).filter(|body| body.is_none())
            {
                *body = Some(self.read_on(link, &plan).await.map_err(|error| (item, error))?);
            }
        }
        Ok(bodies)
    }

    /// Reads the records with these ids in one statement.
    async fn read_records(
        &self,
        link: &mut Link,
        plan: &Plan,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
        let plan = plan.for_records(ids);
        let read = ReadStatement::from_plan(&plan, self.statements.product);
        let fetched = self.fetch(link, &plan, &read).await?;
        plan.shape_records(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), ids)
            .map_err(Failure::Final)
    }

    /// Reads a plan inside the transaction.
    async fn read_on(&self, link: &mut Link, plan: &Plan) -> Result<JsonBody, Failure<ResolveError>> {
        if matches!(plan.target(), Target::Point(id) if id.is_impossible()) {
            return Ok(plan.empty());
        }
        let read = self.statements.of_plan(plan);
        if plan.related_sort_rows().is_some() {
            let steps = read::explain(link, plan, &read).await;
            self.sort_bound.check(plan, async || steps).await.map_err(Failure::Final)?;
        }
        let fetched = self.fetch(link, plan, &read).await?;
        plan.shape(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), 0).map_err(Failure::Final)
    }

    async fn fetch(
        &self,
        link: &mut Link,
        plan: &Plan,
        read: &ReadStatement,
    ) -> Result<LevelRows, Failure<ResolveError>> {
        let (params, budget) = (read::params(plan, read), RowBudget::of_plan(plan));
        let rows =
            link.query_within(&read.statement.sql, &params, budget, bytes_of_tables(read.tables)).await;
        let failed = |error| {
            let failure = match &error {
                PoolError::Failed(cause) => failure_by(cause, ()),
                _ => Failure::Final(()),
            };
            failure.map(|()| read::failed(error, plan))
        };
        Ok(LevelRows::new(rows.map_err(failed)?, read.levels))
    }
}

/// Runs a statement of a write.
async fn query(link: &mut Link, statement: &Statement<Param>, id: &Key) -> Result<Vec<Row>, Error> {
    link.query(&statement.sql, &params(statement, id)).await
}

/// Returns the failure of a write of a step. A write that has raced with another one may succeed when it is repeated.
fn of_write(
    failure: Failure<WriteError>,
    step: usize,
    item: usize,
    mutation: &Mutation,
) -> Failure<ScriptError> {
    let failure = match failure {
        Failure::Final(error) if mutation.is_raced(&error) => Failure::Conflict(error),
        failure => failure,
    };
    failure.map(|error| ScriptError::of_write(step, item, mutation, error))
}

/// Returns the failure of a step for an error that does not concern the values of a write.
fn at_step(step: usize, error: &Error) -> Failure<ScriptError> {
    failure_by(error, ScriptError::new(step, WriteError::from(resolve_error(error))))
}
