//! Settings of the connections to a database.

use std::time::Duration;

use mesh_backend::transaction::DEFAULT_TIMEOUT;

/// Settings of the connections to a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The maximum number of connections to one server, separately for reads and for writes. They are opened as needed. Reads
    /// share half of the connections for reads.
    pub connections: usize,
    /// The time after which an idle connection is closed.
    pub idle_timeout: Duration,
    /// The memory of the server for the prepared statements of one connection, in bytes, estimated from their texts.
    /// Statements that were not used recently are closed. With 0, no statement is prepared.
    pub statements: usize,
    /// The time that a request waits for a connection before it is refused.
    pub wait: Duration,
    /// The time after which the database cancels a statement.
    pub statement_timeout: Duration,
    /// Whether there is a pooler that assigns a connection per transaction. If so, nothing is prepared, and settings
    /// last for one transaction.
    pub pooler: bool,
    /// The address of the primary itself, for connections that listen if `pooler` is set. Without it messages of other
    /// servers are not received, and changes are polled for.
    pub listen_url: Option<String>,
    /// The replicas, to which reads go.
    pub replicas: Vec<String>,
    /// The maximum lag of a replica.
    pub lag: Duration,
    /// The database schemas to serve, the default one first. If empty, the first schema of the search path.
    pub schemas: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 16,
            idle_timeout: Duration::from_secs(60),
            statements: 16 << 20,
            wait: Duration::from_secs(2),
            statement_timeout: DEFAULT_TIMEOUT,
            pooler: false,
            listen_url: None,
            replicas: Vec::new(),
            lag: Duration::from_secs(5),
            schemas: Vec::new(),
        }
    }
}
