//! State in tables of the served database that all servers share: revoked sessions, used nonces, login attempts and
//! persisted queries. The names of the tables begin with `mesh_`, because a MySQL database does not contain schemas.

mod attempts;
pub(crate) mod layout;
mod nonces;
mod revocations;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mesh_integrity::{BoxFuture, StoreError};
use mesh_plan::{ParamDeclarations, Persisted, PersistedQuery, QueryId, QueryStore, QueryStoreError, Value};
use mesh_ql::Format;
use mysql_async::Row;

use crate::cells::{optional_text, text};
use crate::database::Database;
use crate::error::OpenError;
use crate::pool::{Pool, PoolError};
use mesh_backend::pool::RowBudget;
use nonces::Presence;

/// The interval at which expired entries are deleted, in milliseconds.
const SWEEP_INTERVAL: u64 = 30_000;

/// The statement for each table that deletes its expired entries.
const SWEEP: [&str; 3] = [
    "DELETE FROM mesh_nonce WHERE until <= ?",
    "DELETE FROM mesh_revocation WHERE until <= ?",
    "DELETE FROM mesh_attempt WHERE paid_off <= ?",
];

const FIND_QUERY: &str = "SELECT format, text, params FROM mesh_query WHERE id = ?";

const INSERT_QUERY: &str = "INSERT IGNORE INTO mesh_query (id, format, text, params) VALUES (?, ?, ?, ?)";

/// Deletes the oldest queries beyond a number of queries and a number of bytes of their texts.
const TRIM_QUERIES: &str = "
DELETE FROM mesh_query WHERE number IN (
    SELECT number FROM (
        SELECT number, ROW_NUMBER() OVER (ORDER BY number DESC) AS count,
            SUM(LENGTH(text) + COALESCE(LENGTH(params), 0)) OVER (ORDER BY number DESC) AS bytes
        FROM mesh_query
    ) AS q
    WHERE count > ? OR bytes > ?
)";

/// State in the served database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct State {
    pool: Arc<Pool>,
    /// The maximum number of persisted queries.
    queries: usize,
    next_sweep: Arc<AtomicU64>,
    presence: Arc<Presence>,
}

impl Database {
    /// Returns the state that all servers of this database share, and creates its tables if they are missing. At most `queries`
    /// persisted queries are kept, with texts of at most 32 MiB; the oldest are deleted.
    ///
    /// # Errors
    /// The database cannot be reached, the account may not create the tables, or a newer server has written them
    /// ([`OpenError::is_newer_layout`]).
    pub async fn state(&self, queries: usize) -> Result<State, OpenError> {
        let mut link = self.writes.take(false).await.map_err(|error| self.open_error(error))?;
        layout::migrate(&mut link).await.map_err(|error| self.open_error(error))?;
        drop(link);
        let presence = Arc::new(Presence::new());
        let state = State { pool: Arc::clone(&self.writes), queries, next_sweep: Arc::default(), presence };
        state.start_heartbeat().await.map_err(|error| self.open_error(error))?;
        Ok(state)
    }
}

/// Returns a number as a parameter. Numbers out of range, such as times, become the largest one.
fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

impl State {
    async fn run(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.rows(sql, params).await.map_err(StoreError::new)
    }

    async fn rows(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, PoolError> {
        self.pool.run(sql, params, RowBudget::UNLIMITED).await
    }

    /// Deletes expired entries in the background, once per [`SWEEP_INTERVAL`].
    fn sweep_if_due(&self, now: u64) {
        if now < self.next_sweep.load(Ordering::Relaxed) {
            return;
        }
        self.next_sweep.store(now.saturating_add(SWEEP_INTERVAL), Ordering::Relaxed);
        let state = self.clone();
        tokio::spawn(async move {
            for sql in SWEEP {
                if let Err(error) = state.rows(sql, &[number(now)]).await {
                    tracing::warn!("expired entries were not deleted: {error}");
                }
            }
        });
    }
}

impl QueryStore for State {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        Box::pin(async move {
            let id = Value::Bytes(id.as_bytes().to_vec());
            let rows = self.rows(FIND_QUERY, &[id]).await.map_err(QueryStoreError::new)?;
            Ok(rows.first().and_then(|row| {
                let query = PersistedQuery::new(Format::parse(&text(row, 0))?, text(row, 1));
                match optional_text(row, 2) {
                    Some(params) => Some(query.with_params(ParamDeclarations::parse(&params).ok()?)),
                    None => Some(query),
                }
            }))
        })
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        Box::pin(async move {
            let declared = query.params();
            let declared = if declared.is_empty() { Value::Null } else { declared.to_string().into() };
            let id = Value::Bytes(query.id().as_bytes().to_vec());
            let params = [id, query.format().name().into(), query.text().into(), declared];
            self.rows(INSERT_QUERY, &params).await.map_err(QueryStoreError::new)?;
            let bounds = [self.queries, Persisted::TEXT_BYTES].map(|bound| number(bound as u64));
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
