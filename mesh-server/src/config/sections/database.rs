//! Databases, caches and state: `[sqlite]`, `[postgres]`, `[cache]`, `[state]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::define::settings;
use crate::config::parse::{self, GIBIBYTE, HOUR};

settings! {
    /// Reads of a SQLite file: the section `[sqlite]`.
    Sqlite["sqlite."] {
        /// Whether the database file is mapped into memory.
        mmap: bool = true, parse::boolean;
    }
    sections {}
}

settings! {
    /// Connections to a PostgreSQL database: the section `[postgres]`.
    Postgres["postgres."] {
        /// Most connections to one server.
        connections: usize = mesh_postgres::Settings::default().connections, parse::count(1, 10_000);
        /// Time that a request waits for a connection.
        wait: Duration = mesh_postgres::Settings::default().wait, parse::duration(Duration::from_millis(1), HOUR);
        /// How far a replica may be behind the primary.
        lag: Duration = mesh_postgres::Settings::default().lag, parse::duration(Duration::from_millis(1), HOUR);
        /// Whether a pooler assigns a connection to each transaction.
        pooler: bool = mesh_postgres::Settings::default().pooler, parse::boolean;
        /// URL of the primary itself, for connections that listen for changes past a pooler.
        listen_url: Option<String> = None, parse::present;
    }
    sections {}
}

settings! {
    /// Caches in memory: the section `[cache]`.
    Cache["cache."] {
        /// Plans of queries; 0 turns the cache off.
        plans: usize = mesh_plan::Limits::default().plans, parse::count(0, 1_000_000);
        /// Bytes of answers that are reused while a SQLite database does not change; 0 turns the cache off.
        responses: usize = 64 << 20, parse::size(0, 64 * GIBIBYTE);
    }
    sections {}
}

settings! {
    /// State that outlives a restart: the section `[state]`.
    State["state."] {
        /// Where registered queries and ended sessions are kept: `database` or `memory`.
        store: Store = Store::Database, parse::choice;
        /// SQLite file for the state; without it, a file beside the database.
        path: Option<PathBuf> = None, parse::present;
    }
    sections {}
}

/// Where registered queries and ended sessions are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// In the process; a restart loses them.
    Memory,
    /// In a database that other servers may share.
    Database,
}

impl parse::Choice for Store {
    const CHOICES: &[(&'static str, Self)] = &[("memory", Self::Memory), ("database", Self::Database)];
}
