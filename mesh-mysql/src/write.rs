//! Writes: the driver's side of their transactions. `SPEC §11`

pub(crate) mod audit;
mod failure;
pub(crate) mod probe;
mod transaction;

use std::sync::Arc;

use mesh_backend::transaction::End;

use crate::database::Database;
use transaction::MySqlEngine;

/// Writes to a MariaDB database. Cheap to clone; clones share connections.
pub type Writer = mesh_backend::transaction::Writer<MySqlEngine>;

impl Database {
    /// Returns a writer to this database, with separate connections.
    pub fn writer(&self) -> Writer {
        Writer::new(self.engine(), End::Commit)
    }

    /// Returns a writer that rolls each write back after all its checks. Generated numbers still advance.
    pub(crate) fn discarding_writer(&self) -> Writer {
        Writer::new(self.engine(), End::Discard)
    }

    fn engine(&self) -> MySqlEngine {
        MySqlEngine {
            pool: Arc::clone(&self.writes),
            statements: Arc::clone(&self.statements),
            sort_bound: Arc::clone(&self.sort_bound),
        }
    }
}
