//! Writes: one transaction each. `SPEC §11`

pub(crate) mod audit;
mod failure;
mod script;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{join, try_join};
use mesh_plan::sql::postgres::{self, Param};
use mesh_plan::sql::{Part, Statement, Step};
use mesh_plan::{
    Action, BoxFuture, Context, JsonBody, Key, Mutation, Mutator, ResolveError, Rule, Script, ScriptError,
    StepResult, WriteError, WriteOutcome,
};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row};

use crate::cells;
use crate::database::Database;
use crate::other_servers::{Announcement, OtherServers};
use crate::pool::link::Link;
use crate::pool::{Pool, is_stale};
use crate::read;
use crate::read::sort_bound::SortBound;
use crate::read::statement_cache::StatementCache;
use crate::settings::DEFAULT_TIMEOUT;
use crate::sql::TextParam;
use failure::write_error;

/// How often a write is tried that conflicts with concurrent transactions.
const TRIES: usize = 5;

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

    /// Returns a writer that rolls each write back after all its checks, deferred constraints included. Replies show the
    /// records as they were. Sequences that a write uses still advance.
    pub fn discarding_writer(&self) -> Writer {
        Writer { discards: true, ..self.writer() }
    }
}

/// The announcement of a commit to other servers, with their number.
type Announced<'w> = Option<(Announcement<'w>, i64)>;

/// Why a try of a transaction failed.
enum Failure<E = WriteError> {
    /// Another try may succeed.
    Transient(E),
    /// Another try would fail too.
    Final(E),
}

impl<E> Failure<E> {
    /// Counts another try, which gets a new connection, or returns the error if there is none.
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
    async fn write(&self, mutation: Mutation, context: Context) -> Result<WriteOutcome, WriteError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let writing = async {
            let (mut tries, mut fresh) = (1, false);
            loop {
                match self.run(&mutation, fresh).await {
                    Ok(written) => return Ok::<_, WriteError>(written),
                    Err(Failure::Final(error)) if tries < TRIES && mutation.is_raced(&error) => tries += 1,
                    Err(failure) => {
                        failure.retry(&mut tries)?;
                        fresh = true;
                    }
                }
            }
        };
        let written = tokio::time::timeout_at(deadline.into(), writing).await;
        let (outcome, announced) = written.map_err(|_| ResolveError::TimedOut)??;
        let acknowledged = self.acknowledged(announced, deadline);
        let (body, acknowledged) =
            join(self.read_reply(&mutation, &outcome.id, deadline), acknowledged).await;
        acknowledged?;
        Ok(WriteOutcome { body, ..outcome })
    }

    /// Waits until other servers have acknowledged a commit.
    async fn acknowledged(&self, announced: Announced<'_>, deadline: Instant) -> Result<(), ResolveError> {
        let Some((announcement, others)) = announced else { return Ok(()) };
        let acknowledged = tokio::time::timeout_at(deadline.into(), announcement.acknowledged_by(others));
        acknowledged.await.map(drop).map_err(|_| ResolveError::TimedOut)
    }

    /// Reads the reply of a write on a connection for reads of the primary, since replicas may be behind.
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

    /// Runs a write in a transaction. Returns its outcome without the body of the reply.
    async fn run(&self, mutation: &Mutation, fresh: bool) -> Result<(WriteOutcome, Announced<'_>), Failure> {
        let link = self.pool.take(fresh).await;
        let link = link.map_err(|error| Failure::Final(ResolveError::from(error).into()))?;
        link.begin().await.map_err(|error| try_failure(&error, mutation))?;
        let outcome = match self.run_steps(&link, mutation).await {
            Ok(outcome) => outcome,
            Err(failure) => {
                // If this fails, the connection is closed with its transaction.
                let _ = link.end("ROLLBACK").await;
                return Err(failure);
            }
        };
        let ended = self.end(&link).await;
        let announced = ended.map_err(|failure| failure.map(|error| write_error(&error, mutation)))?;
        Ok((outcome, announced))
    }

    /// Ends a transaction whose writes have succeeded.
    async fn end(&self, link: &Link) -> Result<Announced<'_>, Failure<Error>> {
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

    /// Runs the statements of a write inside the transaction.
    async fn run_steps(&self, link: &Link, mutation: &Mutation) -> Result<WriteOutcome, Failure> {
        let steps = postgres::write_steps(mutation, &self.statements.features);
        let (steps, repeated): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| !step.repeats);
        if repeated.is_empty() {
            return self.run_each(link, mutation, &steps).await;
        }
        let execute = async |sql| link.execute(sql).await.map_err(|error| try_failure(&error, mutation));
        let (_, mut outcome) =
            try_join(execute("SAVEPOINT checked"), self.run_each(link, mutation, &steps)).await?;
        let found = !outcome.created;
        for step in repeated.iter().filter(|step| step.part.is_run(found)) {
            if self.run_step(link, mutation, step, &outcome.id).await?.is_empty() {
                // Another transaction has hidden a record, or the write itself has. The first checks decide, which now see
                // that transaction, and not the write.
                execute("ROLLBACK TO checked").await?;
                outcome = self.run_each(link, mutation, &steps).await?;
                break;
            }
        }
        execute("RELEASE checked").await?;
        Ok(outcome)
    }

    /// Runs the statements of a write.
    async fn run_each(
        &self,
        link: &Link,
        mutation: &Mutation,
        steps: &[Step<Param>],
    ) -> Result<WriteOutcome, Failure> {
        let mut id = mutation.expected_id();
        let mut found = false;
        for step in steps {
            if !step.part.is_run(found) {
                continue;
            }
            let rows = self.run_step(link, mutation, step, &id).await?;
            found |= step.part == Part::Find && !rows.is_empty();
            if rows.is_empty()
                && let Some(error) = step.failure(mutation)
            {
                return Err(Failure::Final(error));
            }
            if step.returns_id {
                if rows.len() > 1 {
                    return Err(Failure::Final(WriteError::conflict(Rule::Unique)));
                }
                id = rows.first().map(key_of).unwrap_or_default();
                if id.is_impossible() {
                    let fields = mutation.written().null_fields(&id);
                    return Err(Failure::Final(WriteError::conflict_of(Rule::NotEmpty, fields)));
                }
            }
        }
        let created = matches!(mutation.action(), Action::Merge { .. }) && !found;
        Ok(WriteOutcome { id, body: None, created })
    }

    /// Runs one statement of a write.
    async fn run_step(
        &self,
        link: &Link,
        mutation: &Mutation,
        step: &Step<Param>,
        id: &Key,
    ) -> Result<Vec<Row>, Failure> {
        let Statement { sql, params } = &step.statement;
        let params: Vec<_> = params.iter().map(|param| TextParam(param.for_write(id))).collect();
        match link.query(sql, &params).await {
            Ok(rows) => Ok(rows),
            Err(error) => {
                let features = &self.statements.features;
                Err(failure::of_statement(link, step.part.of(mutation), &error, features).await)
            }
        }
    }
}

impl Mutator for Writer {
    fn mutate(
        &self,
        mutation: Mutation,
        context: Context,
    ) -> BoxFuture<'_, Result<WriteOutcome, WriteError>> {
        Box::pin(self.write(mutation, context))
    }

    fn transact(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Option<BoxFuture<'_, Result<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(self.run_script(script, context)))
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("database", &self.pool.name()).finish_non_exhaustive()
    }
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
