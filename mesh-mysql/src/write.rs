//! Writes: one transaction each. `SPEC §11`

pub(crate) mod audit;
mod failure;
mod script;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mesh_plan::sql::mysql::{self, Param};
use mesh_plan::sql::{Part, Statement, Step};
use mesh_plan::{
    Action, BoxFuture, Context, JsonBody, Key, Mutation, Mutator, Outcome, ResolveError, Rule, Script,
    ScriptError, StepResult, Value, WriteError, Written,
};
use mysql_async::{Error, Row};

use crate::cells;
use crate::database::Database;
use crate::pool::link::{Link, Outcome as Ran};
use crate::pool::{Pool, code, is_one_of, is_stale};
use crate::read;
use crate::read::sort_bound::SortBound;
use crate::read::statement_cache::StatementCache;
use crate::settings::DEFAULT_TIMEOUT;
use failure::write_error;

/// The maximum number of tries of a write that conflicts with concurrent transactions.
pub(crate) const TRIES: usize = 5;

/// The maximum delay before the second try.
const PAUSE: Duration = Duration::from_millis(4);

/// The statement that begins a transaction.
const BEGIN: &str = "START TRANSACTION";

/// Writes to a MySQL or MariaDB database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Writer {
    pool: Arc<Pool>,
    /// Connections to the same server for reads.
    reads: Arc<Pool>,
    statements: Arc<StatementCache>,
    sort_bound: Arc<SortBound>,
    /// Whether transactions are rolled back.
    discards: bool,
}

impl Database {
    /// Returns a writer to this database, with separate connections.
    pub fn writer(&self) -> Writer {
        Writer {
            pool: Arc::clone(&self.writes),
            reads: Arc::clone(&self.pool),
            statements: Arc::clone(&self.statements),
            sort_bound: Arc::clone(&self.sort_bound),
            discards: false,
        }
    }

    /// Returns a writer that rolls each write back after all its checks. Replies show the records without the write.
    /// Generated numbers still advance.
    pub fn discarding_writer(&self) -> Writer {
        Writer { discards: true, ..self.writer() }
    }
}

/// The reason why a try of a transaction failed.
enum Failure<E = WriteError> {
    /// Another try may succeed.
    Transient(E),
    /// Another try would fail too.
    Final(E),
}

impl<E> Failure<E> {
    /// Counts another try, which uses a new connection, or returns the error if no try is left.
    async fn retry(self, tries: &mut usize) -> Result<(), E> {
        match self {
            Self::Transient(_) if *tries < TRIES => {
                tokio::time::sleep(pause(*tries)).await;
                *tries += 1;
                Ok(())
            }
            Self::Transient(error) => {
                tracing::warn!("a write has failed {TRIES} times because of concurrent writes");
                Err(error)
            }
            Self::Final(error) => Err(error),
        }
    }

    fn map<F>(self, convert: impl FnOnce(E) -> F) -> Failure<F> {
        match self {
            Self::Transient(error) => Failure::Transient(convert(error)),
            Self::Final(error) => Failure::Final(convert(error)),
        }
    }
}

/// Returns the delay before another try: up to some milliseconds, and different for writes that conflict with each
/// other.
fn pause(tries: usize) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    PAUSE
        .saturating_mul(u32::try_from(tries).unwrap_or(u32::MAX))
        .mul_f64(f64::from(now.subsec_nanos() % 100) / 100.0)
}

impl Writer {
    async fn write(&self, mutation: Mutation, context: Context) -> Result<Written, WriteError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let writing = async {
            let mut tries = 1;
            loop {
                match self.run(&mutation, tries > 1).await {
                    Ok(written) => return Ok::<_, WriteError>(written),
                    Err(Failure::Final(error)) if tries < TRIES && mutation.is_raced(&error) => tries += 1,
                    Err(failure) => failure.retry(&mut tries).await?,
                }
            }
        };
        let written = tokio::time::timeout_at(deadline.into(), writing).await;
        let outcome = written.map_err(|_| ResolveError::TimedOut)??;
        let body = self.read_reply(&mutation, &outcome.id, deadline).await;
        Ok(Written { body: body.transpose()?, ..outcome })
    }

    /// Reads the reply of a write.
    async fn read_reply(
        &self,
        mutation: &Mutation,
        id: &Key,
        deadline: Instant,
    ) -> Option<Result<JsonBody, ResolveError>> {
        let plan = mutation.reply(id)?;
        let reading = read::run(&self.reads, &plan, &self.statements);
        let read = tokio::time::timeout_at(deadline.into(), reading).await;
        Some(read.unwrap_or(Err(ResolveError::TimedOut)))
    }

    /// Runs a write in a transaction. Returns its outcome without the body of the reply.
    async fn run(&self, mutation: &Mutation, fresh: bool) -> Result<Written, Failure> {
        let link = self.pool.take(fresh).await;
        let mut link = link.map_err(|error| Failure::Final(ResolveError::from(error).into()))?;
        link.begin(BEGIN).await.map_err(|error| try_failure(&error, mutation))?;
        match self.run_steps(&mut link, mutation).await {
            Ok(outcome) => {
                self.end(&mut link)
                    .await
                    .map_err(|error| commit_failure(&error, write_error(&error, mutation)))?;
                Ok(outcome)
            }
            Err(failure) => {
                // If this fails, the connection is closed with its transaction.
                let _ = link.end("ROLLBACK").await;
                Err(failure)
            }
        }
    }

    /// Ends a transaction whose writes have succeeded. A commit whose response was lost may have succeeded, so it is not tried
    /// again.
    async fn end(&self, link: &mut Link) -> Result<(), Error> {
        link.end(if self.discards { "ROLLBACK" } else { "COMMIT" }).await
    }

    /// Runs the statements of a write inside the transaction.
    async fn run_steps(&self, link: &mut Link, mutation: &Mutation) -> Result<Written, Failure> {
        let steps = mysql::write_steps(mutation, self.statements.product);
        let (steps, repeated): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| !step.repeats);
        if repeated.is_empty() {
            return self.run_each(link, mutation, &steps).await;
        }
        let failed = |error: Error| try_failure(&error, mutation);
        link.execute("SAVEPOINT checked").await.map_err(failed)?;
        let mut outcome = self.run_each(link, mutation, &steps).await?;
        let found = !outcome.created;
        for step in repeated.iter().filter(|step| step.part.is_run(found)) {
            if run_step(link, mutation, step, &outcome.id, self.statements.product).await?.affected == 0 {
                // Another transaction or the write itself has hidden a record. The first checks are repeated and
                // decide, because they now see that transaction, but not the write.
                link.execute("ROLLBACK TO SAVEPOINT checked").await.map_err(failed)?;
                outcome = self.run_each(link, mutation, &steps).await?;
                break;
            }
        }
        link.execute("RELEASE SAVEPOINT checked").await.map_err(failed)?;
        Ok(outcome)
    }

    /// Runs the statements of a write.
    async fn run_each(
        &self,
        link: &mut Link,
        mutation: &Mutation,
        steps: &[Step<Param>],
    ) -> Result<Written, Failure> {
        let mut id = mutation.expected_id();
        let mut found = false;
        for step in steps {
            if !step.part.is_run(found) {
                continue;
            }
            let Ran { rows, affected } = run_step(link, mutation, step, &id, self.statements.product).await?;
            found |= step.part == Part::Find && affected > 0;
            if affected == 0
                && let Some(error) = step.failure(mutation)
            {
                return Err(Failure::Final(error));
            }
            if step.returns_id {
                if affected > 1 {
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
        Ok(Written { id, body: None, created })
    }
}

/// Runs one statement of a write. The outcome has the number of rows that it returned or found.
async fn run_step(
    link: &mut Link,
    mutation: &Mutation,
    step: &Step<Param>,
    id: &Key,
    product: mysql::Product,
) -> Result<Ran, Failure> {
    match link.write(&step.statement.sql, &params(&step.statement, id)).await {
        Ok(outcome) => Ok(outcome),
        Err(error) => Err(failure::statement_failure(link, step.part.of(mutation), &error, product).await),
    }
}

/// Returns the parameters of a statement of a write.
fn params(statement: &Statement<Param>, id: &Key) -> Vec<Value> {
    statement.params.iter().map(|param| param.for_write(id).into_owned()).collect()
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

/// Returns the id in a row.
fn key_of(row: &Row) -> Key {
    (0..row.len()).map(|cell| cells::value(row, cell)).collect()
}

/// Returns whether a transaction that was not committed may succeed if it is tried again.
pub(crate) fn is_transient(error: &Error) -> bool {
    is_stale(error) || is_one_of(error, &[code::DEADLOCK])
}

/// Returns the failure for an error of a commit.
fn commit_failure<E>(error: &Error, failed: E) -> Failure<E> {
    // Another server of a cluster has committed a conflicting transaction first, so this one is rolled back. After
    // other errors, this one may be committed.
    if is_one_of(error, &[code::DEADLOCK]) { Failure::Transient(failed) } else { Failure::Final(failed) }
}

/// Returns the failure for an error inside a transaction that is not committed.
fn try_failure(error: &Error, mutation: &Mutation) -> Failure {
    let failed = write_error(error, mutation);
    if is_transient(error) { Failure::Transient(failed) } else { Failure::Final(failed) }
}
