//! How is a PostgreSQL database connected to?

use std::time::Duration;

use crate::config::load::Reader;
use crate::config::{HOUR, SECOND, parse};

/// Connections to a PostgreSQL database: the section `[postgres]`, and `replicas` and `schemas` above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postgres {
    /// Servers that follow the one of `database`; reads go there.
    pub(crate) replicas: Vec<String>,
    /// Namespaces to infer a schema from; empty: the default one.
    pub(crate) schemas: Vec<String>,
    /// The most connections to one server.
    pub(crate) connections: usize,
    /// How long a request waits for one.
    pub(crate) wait: Duration,
    /// How far behind a replica may be.
    pub(crate) lag: Duration,
    /// Whether a pooler gives every transaction another connection.
    pub(crate) pooler: bool,
    /// The address of the primary itself, for connections that listen.
    pub(crate) listen_url: Option<String>,
}

impl Postgres {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        Self {
            replicas: reader.read("replicas", parse::list, default.replicas),
            schemas: reader.read("schemas", parse::list, default.schemas),
            connections: reader.read("postgres.connections", parse::count(1, 10_000), default.connections),
            wait: reader.read("postgres.wait", parse::duration(Duration::from_millis(1), HOUR), default.wait),
            lag: reader.read("postgres.lag", parse::duration(Duration::from_millis(1), HOUR), default.lag),
            pooler: reader.read("postgres.pooler", parse::boolean, default.pooler),
            listen_url: reader.read("postgres.listen_url", parse::present, None),
        }
    }
}

impl Default for Postgres {
    fn default() -> Self {
        Self {
            replicas: Vec::new(),
            schemas: Vec::new(),
            connections: 16,
            wait: 2 * SECOND,
            lag: 5 * SECOND,
            pooler: false,
            listen_url: None,
        }
    }
}
