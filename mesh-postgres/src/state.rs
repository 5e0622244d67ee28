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
use crate::error::BoxError;
use crate::other_servers::OtherServers;

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
pub(crate) struct State {
    tables: StateTables,
    other_servers: Arc<OtherServers>,
    /// The URL of the database without a password.
    name: Arc<str>,
}

impl State {
    /// Returns the state that all servers of this database share, and creates its tables if they are missing. Tables of an
    /// earlier version are migrated; earlier servers of the same major version can still use them. At most `queries`
    /// persisted queries are kept, with texts of at most 32 MiB; the oldest are deleted.
    pub(crate) async fn open(database: &Database, queries: usize) -> Result<Self, BoxError> {
        let link = database.writes.take(false).await?;
        layout::migrate(&link).await?;
        drop(link);
        let other_servers = Arc::clone(&database.other_servers);
        other_servers.revoked.enable();
        other_servers.start();
        let tables = StateTables::open(database.writable_tables(), &STATEMENTS, queries).await?;
        Ok(Self { tables, other_servers, name: database.writes.name().into() })
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
