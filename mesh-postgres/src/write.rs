//! Writes: the driver's side of their transactions. `SPEC §11`

pub(crate) mod audit;
mod failure;
pub(crate) mod probe;
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

    /// Returns a writer that rolls each write back after all its checks, deferred constraints included. Sequences that a
    /// write uses still advance.
    pub(crate) fn discarding_writer(&self) -> Writer {
        Writer::new(self.engine(), End::Discard)
    }

    fn engine(&self) -> PostgresEngine {
        if !self.replicas.is_empty() {
            self.other_servers.start();
        }
        PostgresEngine {
            pool: Arc::clone(&self.writes),
            statements: Arc::clone(&self.statements),
            sort_bound: Arc::clone(&self.sort_bound),
            other_servers: Arc::clone(&self.other_servers),
        }
    }
}
