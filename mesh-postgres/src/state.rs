//! State in the schema `mesh` of the primary that all servers share: revoked sessions, used nonces, login attempts and
//! persisted queries.

mod attempts;
pub(crate) mod layout;
mod nonces;
mod revocations;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mesh_integrity::{BoxFuture, StoreError};
use mesh_plan::{ParamDeclarations, Persisted, PersistedQuery, QueryId, QueryStore, QueryStoreError};
use mesh_ql::Format;
use tokio_postgres::Row;

use crate::database::Database;
use crate::error::OpenError;
use crate::other_servers::OtherServers;
use crate::pool::{Pool, PoolError};
use crate::sql::TextParam;
use nonces::Presence;

/// The interval at which expired entries are deleted, in milliseconds.
const SWEEP_INTERVAL: u64 = 30_000;

/// The statement for each table that deletes its expired entries.
const SWEEP: [(&str, &str); 3] = [
    ("nonce", "DELETE FROM mesh.nonce WHERE until <= $1::bigint"),
    ("revocation", "DELETE FROM mesh.revocation WHERE until <= $1::bigint"),
    ("attempt", "DELETE FROM mesh.attempt WHERE paid_off <= $1::bigint"),
];

/// The number of login counters that are kept.
const ATTEMPTS: u64 = 300_000;

/// Deletes the counters beyond this number, those with the fewest attempts first.
const TRIM_ATTEMPTS: &str = "
DELETE FROM mesh.attempt
WHERE key IN (SELECT key FROM mesh.attempt ORDER BY paid_off DESC, key OFFSET $1::bigint)";

const FIND_QUERY: &str = "SELECT format, text, params FROM mesh.query WHERE id = $1::bytea";

const INSERT_QUERY: &str = "
INSERT INTO mesh.query (id, format, text, params) VALUES ($1::bytea, $2::text, $3::text, $4::text)
ON CONFLICT (id) DO NOTHING";

/// Deletes the oldest queries beyond a number of queries and a number of bytes of their texts.
const TRIM_QUERIES: &str = "
DELETE FROM mesh.query WHERE number IN (
    SELECT number FROM (
        SELECT number, row_number() OVER newest AS count, sum(octet_length(text) + coalesce(octet_length(params), 0)) OVER newest AS bytes
        FROM mesh.query WINDOW newest AS (ORDER BY number DESC)
    ) AS q
    WHERE count > $1::bigint OR bytes > $2::bigint
)";

/// State in the served database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct State {
    pool: Arc<Pool>,
    other_servers: Arc<OtherServers>,
    /// The maximum number of persisted queries.
    queries: usize,
    next_sweep: Arc<AtomicU64>,
    presence: Arc<Presence>,
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
        self.other_servers.revoked.enable();
        self.other_servers.start();
        let (pool, other_servers) = (Arc::clone(&self.writes), Arc::clone(&self.other_servers));
        let presence = Arc::new(Presence::new());
        let state = State { pool, other_servers, queries, next_sweep: Arc::default(), presence };
        let started = state.start_heartbeat().await;
        started.map_err(|error| self.open_error(error))?;
        Ok(state)
    }
}

impl State {
    async fn run(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, StoreError> {
        self.rows(sql, params).await.map_err(StoreError::new)
    }

    /// Runs a statement within the time limit of statements, which the database cannot enforce on a lost connection.
    async fn rows(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, PoolError> {
        let run = tokio::time::timeout(self.pool.statement_timeout(), self.pool.run(sql, params)).await;
        run.unwrap_or(Err(PoolError::TimedOut))
    }

    /// Deletes expired entries in the background, once per [`SWEEP_INTERVAL`].
    fn sweep_if_due(&self, now: u64) {
        if now < self.next_sweep.load(Ordering::Relaxed) {
            return;
        }
        self.next_sweep.store(now.saturating_add(SWEEP_INTERVAL), Ordering::Relaxed);
        let pool = Arc::clone(&self.pool);
        tokio::spawn(async move {
            let expired = SWEEP.map(|(table, sql)| (table, sql, now));
            for (table, sql, bound) in expired.into_iter().chain([("attempt", TRIM_ATTEMPTS, ATTEMPTS)]) {
                if let Err(error) = pool.run(sql, &[TextParam::number(bound)]).await {
                    tracing::warn!("expired entries of mesh.{table} were not deleted: {error}");
                }
            }
        });
    }
}

impl QueryStore for State {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        Box::pin(async move {
            let id = TextParam::bytes(id.as_bytes());
            let rows = self.rows(FIND_QUERY, &[id]).await.map_err(QueryStoreError::new)?;
            Ok(rows.first().and_then(|row| {
                let format = Format::parse(row.get(0))?;
                let query = PersistedQuery::new(format, row.get::<_, String>(1));
                match row.get::<_, Option<String>>(2) {
                    Some(params) => Some(query.with_params(ParamDeclarations::parse(&params).ok()?)),
                    None => Some(query),
                }
            }))
        })
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        Box::pin(async move {
            let (format, text) = (TextParam::text(query.format().name()), TextParam::text(query.text()));
            let declared = query.params();
            let declared = match declared.is_empty() {
                true => TextParam(None),
                false => TextParam(Some(declared.to_string().into())),
            };
            let params = [TextParam::bytes(query.id().as_bytes()), format, text, declared];
            self.rows(INSERT_QUERY, &params).await.map_err(QueryStoreError::new)?;
            let bounds = [self.queries, Persisted::TEXT_BYTES].map(|bound| TextParam::number(bound as u64));
            self.rows(TRIM_QUERIES, &bounds).await.map_err(QueryStoreError::new)?;
            Ok(())
        })
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("database", &self.pool.name()).finish_non_exhaustive()
    }
}
