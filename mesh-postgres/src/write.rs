//! Writes: the driver's side of their transactions. `SPEC §11`

mod failure;
mod transaction;

use std::sync::Arc;

use mesh_backend::transaction::End;

use crate::database::Database;
use crate::pool::Pool;
use transaction::PostgresEngine;

/// Writes to a PostgreSQL database. Cheap to clone; clones share connections.
pub type Writer = mesh_backend::transaction::Writer<PostgresEngine>;

impl Database {
    /// Returns a writer to this database, with separate connections.
    pub fn writer(&self) -> Writer {
        Writer::new(self.engine(), End::Commit)
    }

    pub(crate) fn engine(&self) -> PostgresEngine {
        if !self.replicas.is_empty() {
            self.other_servers.start();
        }
        self.engine_of(&self.writes, false)
    }

    /// Returns an engine whose transactions write nothing, and read one snapshot each.
    pub(crate) fn snapshots(&self) -> PostgresEngine {
        self.engine_of(&self.pool, true)
    }

    fn engine_of(&self, pool: &Arc<Pool>, is_snapshot: bool) -> PostgresEngine {
        PostgresEngine {
            pool: Arc::clone(pool),
            is_snapshot,
            statements: Arc::clone(&self.statements),
            sort_limit: Arc::clone(&self.sort_limit),
            other_servers: Arc::clone(&self.other_servers),
        }
    }
}
