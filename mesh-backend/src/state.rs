//! State in tables that all servers of a database share: persisted queries, and what the tables of nonces, revoked sessions
//! and login attempts have in common.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mesh_integrity::StoreError;
use mesh_plan::{
    BoxFuture, ParamDeclarations, Persisted, PersistedQuery, QueryId, QueryStore, QueryStoreError, Value,
};
use mesh_ql::Format;

use crate::tables::{Cells, TableError, Tables, text};

/// The interval at which expired entries are deleted, in milliseconds.
const SWEEP_INTERVAL: u64 = 30_000;
/// The interval at which a server records that it runs.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// The statements of an engine on the tables of the state.
#[derive(Debug)]
pub struct StateStatements {
    /// Statements that delete entries, each with its parameter: a number of entries or, for `None`, the time at which they have
    /// expired.
    pub sweep: &'static [(&'static str, Option<u64>)],
    /// Records that the server with a name runs.
    pub heartbeat: &'static str,
    /// Selects the format, the text and the parameters of the query with an id.
    pub find_query: &'static str,
    /// Inserts the id, the format, the text and the parameters of a query, unless it exists.
    pub insert_query: &'static str,
    /// Deletes the oldest queries beyond a number of queries and a number of bytes of their texts.
    pub trim_queries: &'static str,
}

/// The tables of the state. Clones share their work.
#[derive(Clone)]
pub struct StateTables(Arc<Inner>);

struct Inner {
    tables: Box<dyn Tables>,
    statements: &'static StateStatements,
    /// The maximum number of persisted queries.
    queries: usize,
    next_sweep: AtomicU64,
    /// The name of this server in the table of servers.
    server: String,
}

/// Returns a number as a parameter. Numbers out of range, such as times, become the largest one.
pub fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns the number in a cell; 0 if there is none.
pub fn number_in(row: &[Value], index: usize) -> u64 {
    match row.get(index) {
        Some(Value::Integer(number)) => u64::try_from(*number).unwrap_or_default(),
        _ => 0,
    }
}

impl StateTables {
    /// Opens the tables, and records that this server runs until the last clone is dropped.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn open(
        tables: impl Tables,
        statements: &'static StateStatements,
        queries: usize,
    ) -> Result<Self, TableError> {
        let server = format!("{:016x}", RandomState::new().hash_one("presence"));
        let next_sweep = AtomicU64::default();
        let inner = Arc::new(Inner { tables: Box::new(tables), statements, queries, next_sweep, server });
        inner.record_presence().await?;
        let running = Arc::downgrade(&inner);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(HEARTBEAT_INTERVAL).await;
                let Some(inner) = running.upgrade() else { return };
                if let Err(error) = inner.record_presence().await {
                    tracing::debug!("cannot note that this server runs: {error}");
                }
            }
        });
        Ok(Self(inner))
    }

    /// Returns the name of this server in the table of servers.
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// Runs an idempotent statement ([`Tables::read`]).
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn run(&self, sql: &str, params: &[Value]) -> Result<Vec<Cells>, StoreError> {
        self.0.tables.read(sql, params).await.map_err(StoreError::new)
    }

    /// Deletes expired entries in the background, at most every 30 seconds.
    pub fn sweep_if_due(&self, now: u64) {
        let next = &self.0.next_sweep;
        if now < next.load(Ordering::Relaxed) {
            return;
        }
        next.store(now.saturating_add(SWEEP_INTERVAL), Ordering::Relaxed);
        let state = self.clone();
        tokio::spawn(async move {
            for (sql, bound) in state.0.statements.sweep {
                if let Err(error) = state.0.tables.read(sql, &[number(bound.unwrap_or(now))]).await {
                    tracing::warn!("expired entries were not deleted: {error}");
                }
            }
        });
    }
}

impl Inner {
    async fn record_presence(&self) -> Result<(), TableError> {
        self.tables.read(self.statements.heartbeat, &[self.server.as_str().into()]).await.map(drop)
    }
}

impl QueryStore for StateTables {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        Box::pin(async move {
            let id = Value::Bytes(id.as_bytes().to_vec());
            let found = self.0.tables.read(self.0.statements.find_query, &[id]).await;
            let found = found.map_err(QueryStoreError::new)?;
            Ok(found.first().and_then(|row| {
                let query = PersistedQuery::new(Format::parse(&text(row, 0)?)?, text(row, 1)?);
                match text(row, 2) {
                    Some(params) => Some(query.with_params(ParamDeclarations::parse(&params).ok()?)),
                    None => Some(query),
                }
            }))
        })
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        Box::pin(async move {
            let Inner { tables, statements, queries, .. } = &*self.0;
            let declared = query.params();
            let declared = (!declared.is_empty()).then(|| declared.to_string());
            let id = Value::Bytes(query.id().as_bytes().to_vec());
            let params = [id, query.format().name().into(), query.text().into(), declared.into()];
            tables.read(statements.insert_query, &params).await.map_err(QueryStoreError::new)?;
            let bounds = [*queries, Persisted::TEXT_BYTES].map(|bound| number(bound as u64));
            tables.read(statements.trim_queries, &bounds).await.map(drop).map_err(QueryStoreError::new)
        })
    }
}

impl fmt::Debug for StateTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateTables").field("server", &self.0.server).finish_non_exhaustive()
    }
}
