//! Scripts: transactions of several steps. `SPEC §18`

use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use mesh_plan::sql::Statement;
use mesh_plan::sql::postgres::{self, Param, ReadStatement};
use mesh_plan::{
    BoxFuture, Context, JsonBody, Key, Mutation, Plan, ResolveError, Script, ScriptError, ScriptStep,
    StepResult, Subject, Target, WriteError,
};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row};

use super::failure::{self, is_about};
use super::{CommitAnnouncement, Failure, Writer, is_transient, key_of};
use crate::cells::{LevelRows, NodeRowSource};
use crate::pool::PoolError;
use crate::pool::link::Link;
use crate::pool::row_budget::RowBudget;
use crate::read;
use crate::settings::DEFAULT_TIMEOUT;
use crate::sql::TextParam;

/// The result of a step: the ids of the written records, and the bodies.
type StepOutput = (Vec<Key>, Vec<Option<JsonBody>>);

impl Writer {
    pub(super) async fn run_script(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Result<Vec<StepResult>, ScriptError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let script = &*script;
        let running = async {
            let mut tries = 1;
            loop {
                match self.try_script(script, tries > 1).await {
                    Ok(ran) => return Ok::<_, ScriptError>(ran),
                    Err(failure) => failure.retry(&mut tries)?,
                }
            }
        };
        let ran = tokio::time::timeout_at(deadline.into(), running).await;
        let (results, announced) = ran.map_err(|_| ResolveError::TimedOut)??;
        self.wait_for_acknowledgements(announced, deadline).await?;
        Ok(results)
    }

    /// Runs a script in a transaction.
    async fn try_script(
        &self,
        script: &dyn Script,
        fresh: bool,
    ) -> Result<(Vec<StepResult>, CommitAnnouncement<'_>), Failure<ScriptError>> {
        let link = self.pool.take(fresh).await;
        let link = link.map_err(|error| Failure::Final(ResolveError::from(error).into()))?;
        link.begin().await.map_err(|error| at_step(0, &error))?;
        let done = match self.run_all(&link, script).await {
            Ok(done) => done,
            Err(failure) => {
                // If a statement is still running, the connection is closed with its transaction.
                if !link.is_running() {
                    let _ = link.end("ROLLBACK").await;
                }
                return Err(failure);
            }
        };
        match self.end(&link).await {
            Ok(announced) => Ok((done, announced)),
            Err(failure) => Err(failure.map(|error| commit_error(&error, &done))),
        }
    }

    async fn run_all(
        &self,
        link: &Link,
        script: &dyn Script,
    ) -> Result<Vec<StepResult>, Failure<ScriptError>> {
        let mut done: Vec<StepResult> = Vec::new();
        loop {
            let number = done.len();
            let next = script.next(&done).map_err(|error| Failure::Final(ScriptError::new(number, error)))?;
            let Some(step) = next else { return Ok(done) };
            let (ids, bodies) = match &step {
                ScriptStep::Write(mutations) => self.write_all(link, mutations, number).await?,
                ScriptStep::Read { plan, lock } => {
                    if let Some(subject) = lock {
                        self.lock(link, plan, subject, number).await?;
                    }
                    let body = self.read_on(link, plan).await;
                    let body = body.map_err(|it| it.map(|error| ScriptError::new(number, error)))?;
                    (Vec::new(), vec![Some(body)])
                }
                _ => {
                    let error = ResolveError::new("a script has a step of an unknown kind");
                    return Err(Failure::Final(ScriptError::new(number, error)));
                }
            };
            done.push(StepResult { step, ids, bodies });
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

    /// Executes writes, and reads their replies.
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
                let at = |error| ScriptError::of_write(step, item, mutation, error);
                ids.push(written.map_err(|failure| failure.map(at))?.id);
            }
        }
        let bodies = self.read_replies(link, mutations, &ids).await;
        Ok((ids, bodies.map_err(|failure| failure.map(|error| ScriptError::new(step, error)))?))
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
            Err(error) if error.as_db_error().is_none() || is_transient(&error) => return Err(error),
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
        let failed = |error| match &error {
            PoolError::Failed(cause) if is_transient(cause) => Failure::Transient(read::failed(error, plan)),
            _ => Failure::Final(read::failed(error, plan)),
        };
        Ok(LevelRows::new(rows.map_err(failed)?, read.levels))
    }
}

/// Returns whether a record can never be locked, regardless of its state: the account may delete but not update it, or
/// it is a record of a view whose rows cannot be locked.
fn cannot_lock(error: &Error) -> bool {
    let codes = [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::FEATURE_NOT_SUPPORTED];
    !is_transient(error) && error.code().is_some_and(|code| codes.contains(code))
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

/// Returns the failure of a step for an error that does not concern the values of a write.
fn at_step(step: usize, error: &Error) -> Failure<ScriptError> {
    let failed = match error.as_db_error() {
        Some(_) => ResolveError::new(crate::error::with_causes(error)),
        None => {
            tracing::warn!("a transaction failed: {}", crate::error::with_causes(error));
            ResolveError::Busy
        }
    };
    let failed = ScriptError::new(step, failed);
    if is_transient(error) { Failure::Transient(failed) } else { Failure::Final(failed) }
}

/// Converts the error of a commit, which reports a deferred constraint. The cause is the first write of the values that
/// the error names, or else the last write.
fn commit_error(error: &Error, done: &[StepResult]) -> ScriptError {
    let steps = done.iter().enumerate().filter_map(|(step, result)| match &result.step {
        ScriptStep::Write(mutations) => Some((step, mutations)),
        _ => None,
    });
    let writes: Vec<_> = steps
        .flat_map(|(step, mutations)| mutations.iter().enumerate().map(move |(item, it)| (step, item, it)))
        .collect();
    let is_cause = |mutation: &Mutation| error.as_db_error().is_some_and(|it| is_about(it, mutation));
    match writes.iter().find(|(.., mutation)| is_cause(mutation)).or_else(|| writes.last()) {
        Some((step, item, mutation)) => {
            ScriptError::of_write(*step, *item, mutation, failure::commit_error(error, mutation))
        }
        None => ScriptError::new(0, WriteError::from(ResolveError::Busy)),
    }
}
