//! Writes: the driver's side of their transactions. `SPEC §11`

pub(crate) mod audit;
mod failure;
pub(crate) mod probe;
mod transaction;

use std::fmt;
use std::sync::Arc;

use mesh_backend::transaction::{End, run};
use mesh_plan::backend::{Script, ScriptError, StepResult};
use mesh_plan::{BoxFuture, Context, Mutator, Outcome};

use crate::database::Database;
pub(crate) use failure::retry;
use transaction::MySqlEngine;

/// Writes to a MariaDB database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Writer {
    engine: MySqlEngine,
    end: End,
}

impl Database {
    /// Returns a writer to this database, with separate connections.
    pub fn writer(&self) -> Writer {
        let engine = MySqlEngine {
            pool: Arc::clone(&self.writes),
            statements: Arc::clone(&self.statements),
            sort_bound: Arc::clone(&self.sort_bound),
        };
        Writer { engine, end: End::Commit }
    }

    /// Returns a writer that rolls each write back after all its checks. Generated numbers still advance.
    pub(crate) fn discarding_writer(&self) -> Writer {
        Writer { end: End::Discard, ..self.writer() }
    }
}

impl Mutator for Writer {
    fn transact(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Option<BoxFuture<'_, Outcome<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(async move { run(&self.engine, &*script, &context, self.end).await }))
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("database", &self.engine.pool.name()).finish_non_exhaustive()
    }
}
