//! State in tables of the served database that all servers share: revoked sessions, used nonces, login attempts and
//! persisted queries. The names of the tables begin with `mesh_`, because a MySQL database does not contain schemas.

mod attempts;
pub(crate) mod layout;
mod nonces;
mod revocations;

use std::fmt;
use std::sync::Arc;

use mesh_backend::state::{StateStatements, StateTables};
use mesh_backend::tables::Tables as _;
use mesh_plan::{BoxFuture, PersistedQuery, QueryId, QueryStore, QueryStoreError};

use crate::database::Database;
use crate::error::BoxError;
use crate::pool::Pool;

const STATEMENTS: StateStatements = StateStatements {
    sweep: &[
        ("DELETE FROM mesh_nonce WHERE until <= ?", None),
        ("DELETE FROM mesh_revocation WHERE until <= ?", None),
        ("DELETE FROM mesh_attempt WHERE paid_off <= ?", None),
    ],
    heartbeat: "REPLACE INTO mesh_server (id, seen) VALUES (?, NOW(3))",
    find_query: "SELECT format, text, params FROM mesh_query WHERE id = ?",
    insert_query: "INSERT IGNORE INTO mesh_query (id, format, text, params) VALUES (?, ?, ?, ?)",
    trim_queries: "
DELETE FROM mesh_query WHERE number IN (
    SELECT number FROM (
        SELECT number, ROW_NUMBER() OVER (ORDER BY number DESC) AS count,
            SUM(LENGTH(text) + COALESCE(LENGTH(params), 0)) OVER (ORDER BY number DESC) AS bytes
        FROM mesh_query
    ) AS q
    WHERE count > ? OR bytes > ?
)",
};

/// Deletes the records of servers that ended long ago.
const DELETE_ENDED_SERVERS: &str = "DELETE FROM mesh_server WHERE seen < NOW(3) - INTERVAL 1 DAY";

/// State in the served database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub(crate) struct State {
    pool: Arc<Pool>,
    tables: StateTables,
}

impl State {
    /// Returns the state that all servers of this database share, and creates its tables if they are missing. At most `queries`
    /// persisted queries are kept, with texts of at most 32 MiB; the oldest are deleted.
    pub(crate) async fn open(database: &Database, queries: usize) -> Result<Self, BoxError> {
        let mut link = database.writes.take(false).await?;
        layout::migrate(&mut link).await?;
        drop(link);
        let tables = database.writable_tables();
        tables.read(DELETE_ENDED_SERVERS, &[]).await?;
        let tables = StateTables::open(tables, &STATEMENTS, queries).await?;
        Ok(Self { pool: Arc::clone(&database.writes), tables })
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
        f.debug_struct("State").field("database", &self.pool.name()).finish_non_exhaustive()
    }
}
