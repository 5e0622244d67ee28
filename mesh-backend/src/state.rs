//! State in tables that all servers of a database share: revoked sessions, used nonces, login attempts and persisted queries.

mod attempts;
mod nonces;
mod queries;
mod revocations;

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mesh_integrity::StoreError;
use mesh_plan::Value;
use mesh_plan::mutation::Outcome;

pub use self::queries::stored_query;
use crate::tables::{Cells, TableError, Tables};
use crate::transaction::{Attempts, Ran};

/// The interval at which expired entries are deleted, in milliseconds.
const SWEEP_INTERVAL: u64 = 30_000;
/// The interval at which a server records that it runs.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// A statement of an operation, with the indexes of those values of the operation that are its parameters.
pub type OperationStatement = (&'static str, &'static [usize]);

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
    /// Selects a row if a session is revoked.
    pub is_revoked: &'static str,
    /// Inserts a session and the time until which it is revoked.
    pub revoke: &'static str,
    /// Selects the mark of nonces.
    pub mark: &'static str,
    /// Selects the mark and locks it, so that it is raised after the end of the transaction.
    pub lock_mark: &'static str,
    /// Raises the mark, unless another server runs. The values are a time and the name of this server. The first statement raises
    /// it, when insertions that have read the previous mark are complete; the last one returns the previous mark.
    pub claim: &'static [OperationStatement],
    /// Selects the nonces with timestamps after a time and up to another one.
    pub claimed: &'static str,
    /// Inserts a nonce that is not in use, if its timestamp is after the mark. The values are the session, the nonce, its timestamp,
    /// the time until which it is in use, and the time now. The last statement inserts it.
    pub insert_nonce: &'static [OperationStatement],
    /// Counts an attempt, if those of the last 60,000 ms leave room for one more. The values are a key and the milliseconds that an
    /// attempt takes of them. The last statement but one counts it; the last one returns the milliseconds until another is possible.
    pub count_attempt: &'static [OperationStatement],
    /// Reverts an attempt of the same values.
    pub undo_attempt: OperationStatement,
}

/// State in the tables of a database. Clones share their work.
#[derive(Clone)]
pub struct State(Arc<Inner>);

struct Inner {
    tables: Arc<dyn Tables>,
    statements: &'static StateStatements,
    /// The same tables for the lookups of sessions, which may run where reads do.
    lookups: Arc<dyn Tables>,
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

impl State {
    /// Opens the tables, and records that this server runs until the last clone is dropped.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn open(
        tables: Arc<dyn Tables>,
        lookups: Arc<dyn Tables>,
        statements: &'static StateStatements,
        queries: usize,
    ) -> Result<Self, TableError> {
        let server = format!("{:016x}", RandomState::new().hash_one("presence"));
        let next_sweep = AtomicU64::default();
        let inner = Arc::new(Inner { tables, lookups, statements, queries, next_sweep, server });
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

    /// Runs an idempotent statement ([`Tables::read`]).
    async fn run(&self, sql: &str, params: &[Value]) -> Result<Vec<Cells>, StoreError> {
        self.0.tables.read(sql, params).await.map_err(StoreError::new)
    }

    /// Runs statements in a transaction, and repeats it after a conflict or if its connection is lost.
    async fn transact(&self, statements: &[(&str, Cells)]) -> Result<Vec<Ran<Cells>>, StoreError> {
        let mut attempts = Attempts::default();
        loop {
            let failure = match self.0.tables.transact(statements, attempts.failed() > 0).await {
                Ok(ran) => return Ok(ran),
                Err(failure) => failure,
            };
            if let Some(Outcome::<(), _>::NotCommitted(error)) = attempts.again(failure) {
                return Err(StoreError::new(error));
            }
        }
    }

    /// Deletes expired entries in the background, at most every 30 seconds.
    fn sweep_if_due(&self, now: u64) {
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

/// Returns the statements of an operation with their parameters, which are among these values.
fn bind(operation: &[OperationStatement], values: &[Value]) -> Vec<(&'static str, Cells)> {
    let params = |indexes: &[usize]| indexes.iter().filter_map(|index| values.get(*index).cloned()).collect();
    operation.iter().map(|(sql, indexes)| (*sql, params(indexes))).collect()
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("server", &self.0.server).finish_non_exhaustive()
    }
}
