//! Settings of the connections to a database.

use std::time::Duration;

use mesh_backend::transaction::DEFAULT_TIMEOUT;

/// Settings of the connections to a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The maximum number of connections to the server, separately for reads and for writes.
    pub connections: usize,
    /// The time after which an idle connection is closed.
    pub idle_timeout: Duration,
    /// The memory of the server for the prepared statements of one connection, in bytes, estimated from their texts.
    /// Statements that were not used recently are closed. With 0, each statement is prepared anew.
    pub statements: usize,
    /// The time that a request waits for a connection before it is refused.
    pub wait: Duration,
    /// The time after which the database cancels a statement.
    pub statement_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 16,
            idle_timeout: Duration::from_secs(60),
            statements: 16 << 20,
            wait: Duration::from_secs(2),
            statement_timeout: DEFAULT_TIMEOUT,
        }
    }
}
