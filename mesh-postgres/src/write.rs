//! Writes: the statements of one inside its transaction. `SPEC §11`

pub(crate) mod audit;
mod failure;
mod probe;
mod script;
mod transaction;

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::try_join;
use mesh_plan::backend::{Failure, Script, ScriptError, StepResult};
use mesh_plan::{Action, BoxFuture, Context, Key, Mutation, Mutator, Outcome, Rule, WriteError, Written};
use mesh_sql::postgres::{self, Param};
use mesh_sql::{Part, Statement, Step};
use tokio_postgres::{Error, Row};

use crate::cells;
use crate::database::Database;
use crate::other_servers::OtherServers;
use crate::pool::Pool;
use crate::pool::link::Link;
use crate::read::sort_bound::SortBound;
use crate::read::statement_cache::StatementCache;
use crate::sql::{self, TextParam};
use failure::write_failure;

/// Returns whether row-level security of a table applies to the account.
const HIDES_ROWS: &str = "SELECT pg_catalog.row_security_active($1::text::regclass)";
/// The maximum number of statements that are sent at once.
const BATCH: usize = 16;

/// Writes to a PostgreSQL database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Writer {
    pool: Arc<Pool>,
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
            statements: Arc::clone(&self.statements),
            sort_bound: Arc::clone(&self.sort_bound),
            other_servers: Arc::clone(&self.other_servers),
            discards: false,
        }
    }

    /// Returns a writer that rolls each write back after all its checks, deferred constraints included. Sequences that a
    /// write uses still advance.
    pub fn discarding_writer(&self) -> Writer {
        Writer { discards: true, ..self.writer() }
    }
}

impl Writer {
    /// Runs the statements of a write inside the transaction, after `opening`.
    async fn run_steps(
        &self,
        link: &Link,
        mutation: &Mutation,
        opening: impl Future<Output = Result<(), Error>>,
    ) -> Result<Written, Failure<WriteError>> {
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
        link.execute("RELEASE checked").await.map_err(|error| write_failure(&error, mutation))?;
        Ok(outcome)
    }

    /// Runs the statements of a write after `opening`.
    async fn run_each(
        &self,
        link: &Link,
        mutation: &Mutation,
        steps: &[Step<Param>],
        opening: impl Future<Output = Result<(), Error>>,
    ) -> Result<Written, Failure<WriteError>> {
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
                    let is_skipped =
                        step.may_be_skipped() && self.is_skipped(link, step.part.of(mutation)).await;
                    let error = if is_skipped { step.part.of(mutation).skipped() } else { error };
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

    /// Returns whether the record exists that a statement has not changed, although the account may change it. If it does
    /// not exist now, a trigger may have deleted it in place of the statement, so the transaction is ended to look again.
    async fn is_skipped(&self, link: &Link, mutation: &Mutation) -> bool {
        let Some(find) = postgres::find_written(mutation, &self.statements.features) else { return false };
        let find = async || {
            let params: Vec<_> =
                find.params.iter().map(|param| TextParam(param.for_write(&Key::default()))).collect();
            link.query_once(&find.sql, &params).await.is_ok_and(|rows| !rows.is_empty())
        };
        if !find().await && (link.end("ROLLBACK").await.is_err() || !find().await) {
            return false;
        }
        // Policies may hide the record from the statement alone. Then it does not exist for this write.
        let table = sql::table(&sql::qualified(
            mutation.written_table(),
            self.statements.features.default_schema.as_ref(),
        ));
        let hides = link.query_once(HIDES_ROWS, &[TextParam::text(&table)]).await;
        hides.is_ok_and(|rows| rows.first().is_some_and(|row| !row.get::<_, bool>(0)))
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
    ) -> Result<Vec<Row>, Failure<WriteError>> {
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
    ) -> Failure<WriteError> {
        let mutation = step.map_or(mutation, |step| step.part.of(mutation));
        failure::statement_failure(link, mutation, error, &self.statements.features).await
    }
}

impl Mutator for Writer {
    fn transact(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Option<BoxFuture<'_, Outcome<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(self.run_script(script, context)))
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
fn returned_id(rows: &[Row], mutation: &Mutation) -> Result<Key, Failure<WriteError>> {
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
