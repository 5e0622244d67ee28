//! State in the schema `mesh` of the primary that all servers share: revoked sessions, used nonces, login attempts and
//! persisted queries.

mod attempts;
pub(crate) mod layout;
mod nonces;
mod revocations;

use std::fmt;
use std::sync::Arc;

use mesh_backend::state::{StateStatements, StateTables};
use mesh_plan::{BoxFuture, PersistedQuery, QueryId, QueryStore, QueryStoreError};

use crate::database::Database;
use crate::error::OpenError;
use crate::tables::PrimaryTables;

/// The number of login counters that are kept.
const ATTEMPTS: u64 = 300_000;

/// Deletes the counters beyond a number, those with the fewest attempts first.
const TRIM_ATTEMPTS: &str = "
DELETE FROM mesh.attempt
WHERE key IN (SELECT key FROM mesh.attempt ORDER BY paid_off DESC, key OFFSET $1::bigint)";

const STATEMENTS: StateStatements = StateStatements {
    sweep: &[
        ("DELETE FROM mesh.nonce WHERE until <= $1::bigint", None),
        ("DELETE FROM mesh.revocation WHERE until <= $1::bigint", None),
        ("DELETE FROM mesh.attempt WHERE paid_off <= $1::bigint", None),
        (TRIM_ATTEMPTS, Some(ATTEMPTS)),
    ],
    // Deletes the records of servers that ended long ago.
    heartbeat: "
WITH ended AS (DELETE FROM mesh.server WHERE seen < clock_timestamp() - interval '1 day')
INSERT INTO mesh.server (id, seen) VALUES ($1::text, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp()",
    find_query: "SELECT format, text, params FROM mesh.query WHERE id = $1::bytea",
    insert_query: "
INSERT INTO mesh.query (id, format, text, params) VALUES ($1::bytea, $2::text, $3::text, $4::text)
ON CONFLICT (id) DO NOTHING",
    trim_queries: "
DELETE FROM mesh.query WHERE number IN (
    SELECT number FROM (
        SELECT number, row_number() OVER newest AS count, sum(octet_length(text) + coalesce(octet_length(params), 0)) OVER newest AS bytes
        FROM mesh.query WINDOW newest AS (ORDER BY number DESC)
    ) AS q
    WHERE count > $1::bigint OR bytes > $2::bigint
)",
};

/// State in the served database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct State {
    tables: StateTables,
    /// The same tables for queries, which share connections with reads.
    lookups: Arc<PrimaryTables>,
    /// The URL of the database without a password.
    name: Arc<str>,
}

impl Database {
    /// Returns the state that all servers of this database share, and creates its tables if they are missing. Tables of an
    /// earlier version are migrated; earlier servers of the same major version can still use them. At most `queries`
    /// persisted queries are kept, with texts of at most 32 MiB; the oldest are deleted.
    ///
    /// # Errors
    /// The database cannot be reached, the account may not create the tables, or a newer server has written them
    /// ([`OpenError::is_newer_layout`]).
    pub async fn state(&self, queries: usize) -> Result<State, OpenError> {
        let link = self.writes.take(false).await.map_err(|error| self.open_error(error))?;
        layout::migrate(&link).await.map_err(|error| self.open_error(error))?;
        drop(link);
        let tables = StateTables::open(self.writable_tables(), &STATEMENTS, queries).await;
        let tables = tables.map_err(|error| self.open_error(error))?;
        Ok(State { tables, lookups: Arc::new(self.tables()), name: self.writes.name().into() })
    }
}

impl QueryStore for State {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        self.tables.find(id)
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        self.tables.save(query)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("database", &self.name).finish_non_exhaustive()
    }
}
