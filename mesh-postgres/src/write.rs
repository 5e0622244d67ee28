//! Writes: one transaction each. `SPEC §11`

pub(crate) mod audit;
mod failure;
mod script;

use std::fmt;
use std::future::ready;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures_util::future::{join, try_join};
use mesh_plan::sql::postgres::{self, Param};
use mesh_plan::sql::{Part, Statement, Step};
use mesh_plan::{
    Action, BoxFuture, Context, JsonBody, Key, Mutation, Mutator, Outcome, ResolveError, Rule, Script,
    ScriptError, StepResult, WriteError, Written,
};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row};

use crate::cells;
use crate::database::Database;
use crate::other_servers::{Announcement, OtherServers};
use crate::pool::link::Link;
use crate::pool::shared::SLOW_RUN_TIME;
use crate::pool::{Lease, Pool, is_stale};
use crate::read;
use crate::read::sort_bound::SortBound;
use crate::read::statement_cache::StatementCache;
use crate::settings::DEFAULT_TIMEOUT;
use crate::sql::TextParam;
use failure::{commit_error, write_error};

/// The maximum number of tries of a write that conflicts with concurrent transactions.
const TRIES: usize = 5;
/// The maximum number of statements that are sent at once.
const BATCH: usize = 16;

/// Writes to a PostgreSQL database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Writer {
    pool: Arc<Pool>,
    /// Connections to the same server for reads.
    reads: Arc<Pool>,
    statements: Arc<StatementCache>,
    sort_bound: Arc<SortBound>,
    other_servers: Arc<OtherServers>,
    /// Whether transactions are rolled back.
    discards: bool,
}

impl Database {
    /// Returns a writer to this database, with separate connections.
    pub fn writer(&self) -> Writer {
        if !self.replicas.is_empty() {
            self.other_servers.start();
        }
        Writer {
            pool: Arc::clone(&self.writes),
            reads: Arc::clone(&self.pool),
            statements: Arc::clone(&self.statements),
            sort_bound: Arc::clone(&self.sort_bound),
            other_servers: Arc::clone(&self.other_servers),
            discards: false,
        }
    }

    /// Returns a writer that rolls each write back after all its checks, deferred constraints included. Replies show
    /// the records without the write. Sequences that a write uses still advance.
    pub fn discarding_writer(&self) -> Writer {
        Writer { discards: true, ..self.writer() }
    }
}

/// The announcement of a commit to other servers, with their number.
type CommitAnnouncement<'w> = Option<(Announcement<'w>, i64)>;

/// The reason why a try of a transaction failed.
enum Failure<E = WriteError> {
    /// Another try may succeed.
    Transient(E),
    /// Another try would fail too.
    Final(E),
}

impl<E> Failure<E> {
    /// Counts another try, which uses a new connection, or returns the error if no try is left.
    fn retry(self, tries: &mut usize) -> Result<(), E> {
        match self {
            Self::Transient(_) if *tries < TRIES => *tries += 1,
            Self::Transient(error) | Self::Final(error) => return Err(error),
        }
        Ok(())
    }

    fn map<F>(self, convert: impl FnOnce(E) -> F) -> Failure<F> {
        match self {
            Self::Transient(error) => Failure::Transient(convert(error)),
            Self::Final(error) => Failure::Final(convert(error)),
        }
    }
}

impl Writer {
    async fn write(&self, mutation: Mutation, context: Context) -> Result<Written, WriteError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let (mut tries, mut fresh) = (1, false);
        let (outcome, announced) = loop {
            match self.run(&mutation, fresh, deadline).await {
                Ok(written) => break written,
                Err(Failure::Final(error)) if tries < TRIES && mutation.is_raced(&error) => tries += 1,
                Err(failure) => {
                    failure.retry(&mut tries)?;
                    fresh = true;
                }
            }
        };
        let acknowledged = self.wait_for_acknowledgements(announced, deadline);
        let reading = async {
            match outcome.body {
                Some(body) => Some(Ok(body)),
                None => self.read_reply(&mutation, &outcome.id, deadline).await,
            }
        };
        let (body, acknowledged): (Option<Result<_, ResolveError>>, _) = join(reading, acknowledged).await;
        acknowledged?;
        Ok(Written { id: outcome.id, body: body.transpose()?, created: outcome.created })
    }

    /// Waits until other servers have acknowledged a commit, or have noticed that another host was promoted.
    async fn wait_for_acknowledgements(
        &self,
        announced: CommitAnnouncement<'_>,
        deadline: Instant,
    ) -> Result<(), ResolveError> {
        let settled_at = self.pool.hosts().settled_at().filter(|_| !self.discards);
        if let Some(settled_at) = settled_at.filter(|settled_at| *settled_at > Instant::now()) {
            tokio::time::sleep_until(settled_at.min(deadline).into()).await;
        }
        let Some((announcement, others)) = announced else { return Ok(()) };
        let acknowledged =
            tokio::time::timeout_at(deadline.into(), announcement.wait_for_acknowledgements(others));
        acknowledged.await.map(drop).map_err(|_| ResolveError::TimedOut)
    }

    /// Reads the reply of a write on a connection to the primary for reads, since replicas may be behind.
    async fn read_reply(
        &self,
        mutation: &Mutation,
        id: &Key,
        deadline: Instant,
    ) -> Option<Result<JsonBody, ResolveError>> {
        let plan = mutation.reply(id)?;
        let reading = read::run(&self.reads, &plan, &self.statements);
        Some(match tokio::time::timeout_at(deadline.into(), reading).await {
            Ok(Ok(body)) => body,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(ResolveError::TimedOut),
        })
    }

    /// Reads the reply of a write on the connection of the write, if the read is light. The read is sent directly after
    /// the end of the transaction, so that it holds no locks. Returns `None` if the reply has to be read on another
    /// connection.
    async fn read_reply_on(
        &self,
        link: &Link,
        mutation: &Mutation,
        id: &Key,
        (ended, deadline): (&OnceLock<Instant>, Instant),
    ) -> Option<Result<JsonBody, ResolveError>> {
        // Behind a pooler, settings of a session apply only in a transaction.
        if self.discards || link.has_pooler() {
            return None;
        }
        let plan = mutation.reply(id)?;
        let statement = self.statements.of_plan(&plan);
        if !statement.weight.is_light() {
            return None;
        }
        let reading = read::run_on(link, &plan, &statement.read);
        let Ok(body) = tokio::time::timeout_at(deadline.into(), reading).await else {
            return Some(Err(ResolveError::TimedOut));
        };
        statement.weight.record_shared(ended.get().is_some_and(|ended| ended.elapsed() >= SLOW_RUN_TIME));
        body.ok()
    }

    /// Runs a write in a transaction. Returns its outcome without the body of the reply, unless that was read on the
    /// connection of the write.
    async fn run(
        &self,
        mutation: &Mutation,
        fresh: bool,
        deadline: Instant,
    ) -> Result<(Written, CommitAnnouncement<'_>), Failure> {
        let timed_out = |_| Failure::Final(ResolveError::TimedOut.into());
        let running = tokio::time::timeout_at(deadline.into(), self.run_open(mutation, fresh));
        let (link, outcome) = running.await.map_err(timed_out)??;
        let at = OnceLock::new();
        let ending = async {
            let ended = tokio::time::timeout_at(deadline.into(), self.end(&link)).await;
            at.get_or_init(Instant::now);
            ended
        };
        // The futures send their requests when they are first polled, which is in order.
        let reading = self.read_reply_on(&link, mutation, &outcome.id, (&at, deadline));
        let (ended, body) = join(ending, reading).await;
        let ended = ended.map_err(timed_out)?;
        let announced = ended.map_err(|failure| failure.map(|error| commit_error(&error, mutation)))?;
        Ok((Written { body: body.and_then(Result::ok), ..outcome }, announced))
    }

    /// Runs a write in a transaction, and returns its connection, on which the transaction is open.
    async fn run_open(&self, mutation: &Mutation, fresh: bool) -> Result<(Lease, Written), Failure> {
        let link = self.pool.take(fresh).await;
        let link = link.map_err(|error| Failure::Final(ResolveError::from(error).into()))?;
        match self.run_steps(&link, mutation, link.begin()).await {
            Ok(outcome) => Ok((link, outcome)),
            Err(failure) => {
                // If this fails, the connection is closed with its transaction.
                let _ = link.end("ROLLBACK").await;
                Err(failure)
            }
        }
    }

    /// Ends a transaction whose writes have succeeded.
    async fn end(&self, link: &Link) -> Result<CommitAnnouncement<'_>, Failure<Error>> {
        if self.discards {
            let checked = link.execute("SET CONSTRAINTS ALL IMMEDIATE").await;
            // If this fails, the connection is closed with its transaction.
            let _ = link.end("ROLLBACK").await;
            let failed =
                |error| if is_transient(&error) { Failure::Transient(error) } else { Failure::Final(error) };
            return checked.map(|()| None).map_err(failed);
        }
        // A commit whose response was lost may have succeeded, so the write is not tried again.
        link.end("COMMIT").await.map_err(Failure::Final)?;
        Ok(self.other_servers.announce_write(link).await)
    }

    /// Runs the statements of a write inside the transaction, after `opening`.
    async fn run_steps(
        &self,
        link: &Link,
        mutation: &Mutation,
        opening: impl Future<Output = Result<(), Error>>,
    ) -> Result<Written, Failure> {
        let steps = postgres::write_steps(mutation, &self.statements.features);
        let (steps, repeated): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| !step.repeats);
        if repeated.is_empty() {
            return self.run_each(link, mutation, &steps, opening).await;
        }
        let opening = async { try_join(opening, link.execute("SAVEPOINT checked")).await.map(drop) };
        let mut outcome = self.run_each(link, mutation, &steps, opening).await?;
        let found = !outcome.created;
        let repeated: Vec<_> = repeated.iter().filter(|step| step.part.is_run(found)).collect();
        let (rows, error) = self.run_batch(link, &repeated, &outcome.id, ready(Ok(()))).await;
        if let Some(error) = error {
            return Err(self.failure_of(link, mutation, repeated.get(rows.len()), &error).await);
        }
        if rows.iter().any(Vec::is_empty) {
            // Another transaction or the write itself has hidden a record. The first checks are repeated and decide,
            // because they now see that transaction, but not the write.
            outcome = self.run_each(link, mutation, &steps, link.execute("ROLLBACK TO checked")).await?;
        }
        link.execute("RELEASE checked").await.map_err(|error| try_failure(&error, mutation))?;
        Ok(outcome)
    }

    /// Runs the statements of a write after `opening`.
    async fn run_each(
        &self,
        link: &Link,
        mutation: &Mutation,
        steps: &[Step<Param>],
        opening: impl Future<Output = Result<(), Error>>,
    ) -> Result<Written, Failure> {
        let (mut id, mut found) = (mutation.expected_id(), false);
        let (mut left, mut opening) = (steps, Some(opening));
        loop {
            let (batch, rest) = left.split_at(batch_length(left, found, &id));
            let batch: Vec<_> = batch.iter().filter(|step| step.part.is_run(found)).collect();
            let opening = opening.take();
            let opening = async {
                match opening {
                    Some(opening) => opening.await,
                    None => Ok(()),
                }
            };
            let bound = id.clone();
            let (all, error) = self.run_batch(link, &batch, &bound, opening).await;
            let failed = batch.get(all.len());
            for (step, mut rows) in batch.iter().zip(all) {
                // The write may have given the record another id. After an error, no other statement can be run.
                if uses_id(step) && id != bound && error.is_none() {
                    rows = self.run_step(link, mutation, step, &id).await?;
                }
                found |= step.part == Part::Find && !rows.is_empty();
                if rows.is_empty()
                    && let Some(error) = step.failure(mutation)
                {
                    return Err(Failure::Final(error));
                }
                if step.returns_id {
                    id = returned_id(&rows, mutation)?;
                }
            }
            if let Some(error) = error {
                return Err(self.failure_of(link, mutation, failed, &error).await);
            }
            left = rest;
            if left.is_empty() {
                let created = matches!(mutation.action(), Action::Merge { .. }) && !found;
                return Ok(Written { id, body: None, created });
            }
        }
    }

    /// Runs statements of a write after `opening`, and returns the rows of those before the first error, with that
    /// error. The statements after a failed check still run, because the transaction is rolled back.
    async fn run_batch(
        &self,
        link: &Link,
        batch: &[&Step<Param>],
        id: &Key,
        opening: impl Future<Output = Result<(), Error>>,
    ) -> (Vec<Vec<Row>>, Option<Error>) {
        let statements = batch.iter().map(|step| {
            let Statement { sql, params } = &step.statement;
            (sql.as_str(), params.iter().map(|param| TextParam(param.for_write(id))).collect())
        });
        let statements: Vec<_> = statements.collect();
        link.query_all(opening, &statements).await
    }

    /// Runs one statement of a write.
    async fn run_step(
        &self,
        link: &Link,
        mutation: &Mutation,
        step: &Step<Param>,
        id: &Key,
    ) -> Result<Vec<Row>, Failure> {
        let (rows, error) = self.run_batch(link, &[step], id, ready(Ok(()))).await;
        match error {
            Some(error) => Err(self.failure_of(link, mutation, Some(&step), &error).await),
            None => Ok(rows.into_iter().next().unwrap_or_default()),
        }
    }

    /// Returns the failure for an error of a statement of a write.
    async fn failure_of(
        &self,
        link: &Link,
        mutation: &Mutation,
        step: Option<&&Step<Param>>,
        error: &Error,
    ) -> Failure {
        let mutation = step.map_or(mutation, |step| step.part.of(mutation));
        failure::statement_failure(link, mutation, error, &self.statements.features).await
    }
}

impl Mutator for Writer {
    fn mutate(&self, mutation: Mutation, context: Context) -> BoxFuture<'_, Outcome<Written, WriteError>> {
        Box::pin(async { self.write(mutation, context).await.into() })
    }

    fn transact(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Option<BoxFuture<'_, Outcome<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(async { self.run_script(script, context).await.into() }))
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("database", &self.pool.name()).finish_non_exhaustive()
    }
}

/// Returns the number of the next statements that can be sent at once, because none depends on the result of another.
fn batch_length(steps: &[Step<Param>], found: bool, id: &Key) -> usize {
    let run = steps.iter().enumerate().filter(|(_, step)| step.part.is_run(found));
    for (count, (index, step)) in run.enumerate() {
        if count == BATCH || (count > 0 && id.is_empty() && uses_id(step)) {
            return index;
        }
        if step.part == Part::Find {
            return index + 1;
        }
    }
    steps.len()
}

/// Returns whether a statement needs the id of the written record.
fn uses_id(step: &Step<Param>) -> bool {
    step.statement.params.iter().any(Param::is_id)
}

/// Returns the id in the rows of the statement that writes a record.
fn returned_id(rows: &[Row], mutation: &Mutation) -> Result<Key, Failure> {
    if rows.len() > 1 {
        return Err(Failure::Final(WriteError::conflict(Rule::Unique)));
    }
    let id = rows.first().map(key_of).unwrap_or_default();
    if id.is_impossible() {
        let fields = mutation.written().null_fields(&id);
        return Err(Failure::Final(WriteError::conflict_of(Rule::NotEmpty, fields)));
    }
    Ok(id)
}

/// Returns the id in a row.
fn key_of(row: &Row) -> Key {
    (0..row.len()).map(|cell| cells::value(row, cell)).collect()
}

/// Returns whether a transaction that was not committed may succeed if it is tried again.
fn is_transient(error: &Error) -> bool {
    is_stale(error) || error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}

/// Returns the failure for an error inside a transaction that is not committed.
fn try_failure(error: &Error, mutation: &Mutation) -> Failure {
    let failed = write_error(error, mutation);
    if is_transient(error) { Failure::Transient(failed) } else { Failure::Final(failed) }
}
