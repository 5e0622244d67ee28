//! Scripts: transactions of several steps. `SPEC §18`

use std::future::ready;

use mesh_plan::backend::{Failure, Script, ScriptError, ScriptStep, StepResult};
use mesh_plan::{BoxFuture, JsonBody, Key, Mutation, Plan, ResolveError, Subject, Target, WriteError};
use mesh_sql::Statement;
use mesh_sql::postgres::{self, Param, ReadStatement};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row};

use super::failure::{failure_by, resolve_error};
use super::{Writer, key_of};
use crate::cells::{LevelRows, NodeRowSource};
use crate::pool::link::Link;
use crate::pool::row_budget::RowBudget;
use crate::pool::{PoolError, is_stale};
use crate::read;
use crate::sql::TextParam;

/// The result of a step: the ids of the written records, the bodies, and whether a merge has created its record.
type StepOutput = (Vec<Key>, Vec<Option<JsonBody>>, bool);

impl Writer {
    /// Runs the steps of a script in a transaction, which stays open. If the first step is a single write, the transaction
    /// begins in the same round trip.
    pub(super) async fn run_all(
        &self,
        link: &Link,
        script: &dyn Script,
    ) -> Result<Vec<StepResult>, Failure<ScriptError>> {
        let mut done: Vec<StepResult> = Vec::new();
        loop {
            let number = done.len();
            let next = script.next(&done).map_err(|error| Failure::Final(ScriptError::new(number, error)))?;
            let Some(step) = next else { return Ok(done) };
            let is_single = matches!(&step, ScriptStep::Write(mutations) if mutations.len() == 1);
            if number == 0 && !is_single {
                link.begin().await.map_err(|error| at_step(0, &error))?;
            }
            let (ids, bodies, created) = match &step {
                ScriptStep::Write(mutations) => match &**mutations {
                    [mutation] => self.write_one(link, mutation, number).await?,
                    mutations => self.write_all(link, mutations, number).await?,
                },
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

    /// Locks the record of a point read, so that no other transaction changes it before this one ends.
    async fn lock(
        &self,
        link: &Link,
        plan: &Plan,
        subject: &Subject,
        step: usize,
    ) -> Result<(), Failure<ScriptError>> {
        let Target::Point(id) = plan.target() else { return Ok(()) };
        let not_found = || Failure::Final(ScriptError::new(step, subject.not_found(id)));
        if id.is_impossible() {
            return Err(not_found());
        }
        let find = |locks| postgres::find(subject, id, locks, &self.statements.features);
        let found = match query(link, &find(true), id).await {
            // This is the first step, so nothing has to be repeated.
            Err(error) if step == 0 && cannot_lock(&error) => {
                keep_snapshot(link).await.map_err(|error| at_step(step, &error))?;
                query(link, &find(false), id).await
            }
            found => found,
        };
        if found.map_err(|error| at_step(step, &error))?.is_empty() { Err(not_found()) } else { Ok(()) }
    }

    /// Executes a write, and reads its reply. If it is the first step, it begins the transaction.
    async fn write_one(
        &self,
        link: &Link,
        mutation: &Mutation,
        step: usize,
    ) -> Result<StepOutput, Failure<ScriptError>> {
        let opening = async {
            match step {
                0 => link.begin().await,
                _ => Ok(()),
            }
        };
        let written = self.run_steps(link, mutation, opening).await;
        let written = written.map_err(|failure| of_write(failure, step, 0, mutation))?;
        let body = match mutation.reply(&written.id) {
            Some(plan) => self.read_on(link, &plan).await.map(Some),
            None => Ok(None),
        };
        let body = body.map_err(|failure| failure.map(|error| ScriptError::new(step, error)))?;
        Ok((vec![written.id], vec![body], written.created))
    }

    /// Executes several writes, and reads their replies.
    async fn write_all(
        &self,
        link: &Link,
        mutations: &[Mutation],
        step: usize,
    ) -> Result<StepOutput, Failure<ScriptError>> {
        let mut ids = Vec::with_capacity(mutations.len());
        while let Some(left) = mutations.get(ids.len()..).filter(|left| !left.is_empty()) {
            let count = match postgres::create_many(left, &self.statements.features) {
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
                let written = self.run_steps(link, mutation, ready(Ok(()))).await;
                ids.push(written.map_err(|failure| of_write(failure, step, item, mutation))?.id);
            }
        }
        let bodies = self.read_replies(link, mutations, &ids).await;
        let bodies = bodies.map_err(|failure| failure.map(|error| ScriptError::new(step, error)))?;
        Ok((ids, bodies, false))
    }

    /// Creates records with one statement. Returns `None` if this fails because one of them cannot be created; its
    /// error is then found by creating them one by one.
    async fn create_many(
        &self,
        link: &Link,
        statement: &Statement<Param>,
        alike: &[Mutation],
    ) -> Result<Option<Vec<Key>>, Error> {
        link.execute("SAVEPOINT many").await?;
        let (ended, ids) = match self.try_create(link, statement, alike).await {
            Ok(Some(ids)) => ("RELEASE many", Some(ids)),
            Ok(None) => ("ROLLBACK TO many", None),
            Err(error) if !matches!(failure_by(&error, ()), Failure::Final(())) => return Err(error),
            Err(_) => ("ROLLBACK TO many", None),
        };
        link.execute(ended).await?;
        Ok(ids)
    }

    /// Creates records with one statement. Returns `None` if it did not create all of them, or if one of them is not a
    /// permitted result.
    async fn try_create(
        &self,
        link: &Link,
        statement: &Statement<Param>,
        alike: &[Mutation],
    ) -> Result<Option<Vec<Key>>, Error> {
        let rows = query(link, statement, &Key::default()).await?;
        let ids: Vec<Key> = rows.iter().map(key_of).collect();
        let Some(first) = alike.first() else { return Ok(None) };
        if ids.len() != alike.len() || ids.iter().any(Key::is_impossible) {
            return Ok(None);
        }
        if let Some(permitted) = postgres::permitted(first.subject(), &ids, &self.statements.features) {
            let permitted = query(link, &permitted, &Key::default()).await?;
            return Ok((permitted.len() == ids.len()).then_some(ids));
        }
        Ok(Some(ids))
    }

    /// Reads the replies of writes. The replies of several writes are read at once.
    async fn read_replies(
        &self,
        link: &Link,
        mutations: &[Mutation],
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
        let mut bodies = vec![None; mutations.len()];
        if let ([first, _, ..], [id, ..]) = (mutations, ids)
            && let Some(plan) = first.reply(id)
        {
            bodies = self.read_records(link, &plan, ids).await?;
        }
        for (item, (mutation, id)) in mutations.iter().zip(ids).enumerate() {
            if let Some(plan) = mutation.reply(id)
                && let Some(body) = bodies.get_mut(item).filter(|body| body.is_none())
            {
                *body = Some(self.read_on(link, &plan).await?);
            }
        }
        Ok(bodies)
    }

    /// Reads the records with these ids in one statement.
    async fn read_records(
        &self,
        link: &Link,
        plan: &Plan,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
        self.check_sort(link, plan, &self.statements.of_plan(plan).read).await?;
        let plan = plan.for_records(ids);
        let read = ReadStatement::from_plan(&plan, &self.statements.features);
        let fetched = self.fetch(link, &plan, &read).await?;
        plan.shape_records(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), ids)
            .map_err(Failure::Final)
    }

    /// Reads a plan inside the transaction.
    async fn read_on(&self, link: &Link, plan: &Plan) -> Result<JsonBody, Failure<ResolveError>> {
        if matches!(plan.target(), Target::Point(id) if id.is_impossible()) {
            return Ok(plan.empty());
        }
        let plan = &*self.statements.features.charset.known_plan(plan);
        let statement = self.statements.of_plan(plan);
        let read = &statement.read;
        self.check_sort(link, plan, read).await?;
        let fetched = self.fetch(link, plan, read).await?;
        plan.shape(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), 0).map_err(Failure::Final)
    }

    /// Refuses a sort by values of related records that would scan too many rows.
    async fn check_sort(
        &self,
        link: &Link,
        plan: &Plan,
        read: &ReadStatement,
    ) -> Result<(), Failure<ResolveError>> {
        let steps = || -> BoxFuture<'_, _> { Box::pin(read::query_plan(link, plan, read)) };
        self.sort_bound.check(plan, steps).await.map_err(Failure::Final)
    }

    async fn fetch(
        &self,
        link: &Link,
        plan: &Plan,
        read: &ReadStatement,
    ) -> Result<LevelRows, Failure<ResolveError>> {
        let (params, budget) = (read::params(plan, read), RowBudget::of_plan(plan));
        let rows = link.query_bounded(&read.statement.sql, &params, budget).await;
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

/// Returns whether a record can never be locked, regardless of its state: the account may delete but not update it, or
/// it is a record of a view whose rows cannot be locked.
fn cannot_lock(error: &Error) -> bool {
    let codes = [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::FEATURE_NOT_SUPPORTED];
    !is_stale(error) && error.code().is_some_and(|code| codes.contains(code))
}

/// Restarts the transaction, with one snapshot for all its statements. A write of a record that another transaction has
/// changed since then fails, and the transaction is tried again.
async fn keep_snapshot(link: &Link) -> Result<(), Error> {
    link.end("ROLLBACK").await?;
    link.begin().await?;
    link.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await
}

/// Runs a statement of a write.
async fn query(link: &Link, statement: &Statement<Param>, id: &Key) -> Result<Vec<Row>, Error> {
    let params: Vec<_> = statement.params.iter().map(|param| TextParam(param.for_write(id))).collect();
    link.query(&statement.sql, &params).await
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
