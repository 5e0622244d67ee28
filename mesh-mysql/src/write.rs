//! Writes: the statements of one inside its transaction. `SPEC §11`

pub(crate) mod audit;
mod failure;
mod probe;
mod script;
mod transaction;

use std::fmt;
use std::sync::Arc;

use mesh_plan::backend::{Failure, Script, ScriptError, StepResult};
use mesh_plan::{
    Action, BoxFuture, Context, Key, Mutation, Mutator, Outcome, Rule, Value, WriteError, Written,
};
use mesh_sql::mysql::{self, Param};
use mesh_sql::{Part, Statement, Step};
use mysql_async::{Error, Row};

use crate::cells;
use crate::database::Database;
use crate::pool::Pool;
use crate::pool::link::{Link, Outcome as Ran};
use crate::read::sort_bound::SortBound;
use crate::read::statement_cache::StatementCache;
pub(crate) use failure::is_transient;
use failure::write_failure;

/// Writes to a MySQL or MariaDB database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Writer {
    pool: Arc<Pool>,
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
            statements: Arc::clone(&self.statements),
            sort_bound: Arc::clone(&self.sort_bound),
            discards: false,
        }
    }

    /// Returns a writer that rolls each write back after all its checks. Generated numbers still advance.
    pub fn discarding_writer(&self) -> Writer {
        Writer { discards: true, ..self.writer() }
    }
}

impl Writer {
    /// Runs the statements of a write inside the transaction.
    async fn run_steps(&self, link: &mut Link, mutation: &Mutation) -> Result<Written, Failure<WriteError>> {
        let steps = mysql::write_steps(mutation, self.statements.product);
        let (steps, repeated): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| !step.repeats);
        if repeated.is_empty() {
            return self.run_each(link, mutation, &steps).await;
        }
        let failed = |error: Error| write_failure(&error, mutation);
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
    ) -> Result<Written, Failure<WriteError>> {
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
) -> Result<Ran, Failure<WriteError>> {
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

/// Returns the id in a row.
fn key_of(row: &Row) -> Key {
    (0..row.len()).map(|cell| cells::value(row, cell)).collect()
}
