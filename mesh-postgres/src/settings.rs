//! Settings of the connections to a database.

use std::time::Duration;

/// The time limit of reads and writes that come without a deadline.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How a database is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The most connections that are open to one server at a time.
    pub connections: usize,
    /// How long a request waits for a connection before it is refused.
    pub wait: Duration,
    /// After how long the database itself ends a statement.
    pub statement_timeout: Duration,
    /// Whether there is a pooler between that gives every transaction another connection: then nothing is
    /// prepared, and no setting outlives a transaction.
    pub pooler: bool,
    /// The address of the primary itself, where `pooler` is set: connections that listen go there. Without it
    /// nothing is heard of what other servers tell, and changes are looked for.
    pub listen_url: Option<String>,
    /// Servers that follow the one that is written to. Reads go to them.
    pub replicas: Vec<String>,
    /// How far behind a replica may be.
    pub lag: Duration,
    /// The namespaces to serve, the default one first; empty: the one that names without a namespace mean.
    pub schemas: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 16,
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
