//! Writes: the driver's side of their transactions. `SPEC §11`

mod failure;
mod transaction;

use std::sync::Arc;

use mesh_backend::transaction::End;

use crate::database::Database;
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
        PostgresEngine {
            pool: Arc::clone(&self.writes),
            statements: Arc::clone(&self.statements),
            sort_limit: Arc::clone(&self.sort_limit),
            other_servers: Arc::clone(&self.other_servers),
        }
    }
}
