//! The prepared statements of a connection, within a bound on the memory of the database.

use std::sync::Arc;

use mesh_plan::backend::{LocalCache, Repeats};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Error, Statement};

/// The number of prepared statements of one connection. The database bounds that of all connections (`max_prepared_stmt_count`).
const COUNT: usize = 200;
/// The memory that the database needs for a prepared statement, in bytes for each byte of its text. Measured with the
/// `MEMORY_USED` of MariaDB 10.11 for reads of 16 to 1,755 tables.
const BYTES_PER_TEXT_BYTE: usize = 125;

/// Returns the estimated memory of the database for a statement.
pub(super) fn server_bytes(sql: &str) -> usize {
    sql.len().saturating_mul(BYTES_PER_TEXT_BYTE)
}

/// The prepared statements of a connection. A statement is kept when it comes again, on this connection or another one,
/// because most statements that a client makes up never come again.
pub(crate) struct Statements {
    kept: LocalCache<Box<str>, Statement>,
    /// The statement that runs and is not kept.
    unkept: Option<Statement>,
    repeats: Arc<Repeats>,
}

impl Statements {
    /// Creates an empty list of statements that take at most this memory of the database.
    pub(super) fn new(bytes: usize, repeats: &Arc<Repeats>) -> Self {
        let kept = LocalCache::bounded(COUNT, bytes);
        Self { kept, unkept: None, repeats: Arc::clone(repeats) }
    }

    /// Returns a prepared statement.
    pub(super) async fn prepare(&mut self, conn: &mut Conn, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.kept.get_mut(sql) {
            return Ok(statement.clone());
        }
        let bytes = server_bytes(sql);
        let is_kept = self.kept.accepts(bytes) && self.repeats.is_repeat(sql);
        let statement = conn.prep(sql).await?;
        if is_kept {
            for displaced in self.kept.insert(sql.into(), statement.clone(), bytes) {
                conn.close(displaced).await?;
            }
        } else {
            self.unkept = Some(statement.clone());
        }
        Ok(statement)
    }

    /// Closes the statement that has run, unless it is kept.
    pub(super) async fn close_unkept(&mut self, conn: &mut Conn) -> Result<(), Error> {
        match self.unkept.take() {
            Some(statement) => conn.close(statement).await,
            None => Ok(()),
        }
    }
}
