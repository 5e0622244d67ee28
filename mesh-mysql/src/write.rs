//! Writes: the driver's side of their transactions. `SPEC §11`

mod failure;
mod transaction;

use std::sync::Arc;

use mesh_backend::transaction::End;

use crate::database::Database;
use crate::pool::Pool;
use transaction::MySqlEngine;

/// Writes to a MariaDB database. Cheap to clone; clones share connections.
pub type Writer = mesh_backend::transaction::Writer<MySqlEngine>;

impl Database {
    /// Returns a writer to this database, with separate connections.
    pub fn writer(&self) -> Writer {
        Writer::new(self.engine(), End::Commit)
    }

    pub(crate) fn engine(&self) -> MySqlEngine {
        self.engine_of(&self.writes, false)
    }

    /// Returns an engine whose transactions write nothing, and read one snapshot each.
    pub(crate) fn snapshots(&self) -> MySqlEngine {
        self.engine_of(&self.pool, true)
    }

    fn engine_of(&self, pool: &Arc<Pool>, is_snapshot: bool) -> MySqlEngine {
        MySqlEngine {
            pool: Arc::clone(pool),
            is_snapshot,
            statements: Arc::clone(&self.statements),
            sort_limit: Arc::clone(&self.sort_limit),
        }
    }
}
