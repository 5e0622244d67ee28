//! State that outlives a server and is shared by all: ended sessions, used nonces, login attempts and registered
//! queries, in the schema `mesh` of the primary.

mod attempts;
mod revocations;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::Either;
use mesh_integrity::{BoxFuture, MaybeReady, NonceStore, SessionId, StoreError};
use mesh_plan::{PersistedQuery, QueryId, QueryStore, QueryStoreError};
use mesh_ql::Format;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::database::Database;
use crate::error::{OpenError, with_causes};
use crate::other_servers::OtherServers;
use crate::pool::{Pool, PoolError};
use crate::read::TextParam;

/// How often entries that are not needed any more are dropped, in milliseconds.
const SWEEP_EVERY: u64 = 30_000;

/// Servers that start together would trip over one another without the lock.
const TABLES: &str = "
BEGIN;
SELECT pg_advisory_xact_lock(7815104972317);
CREATE SCHEMA IF NOT EXISTS mesh;
CREATE TABLE IF NOT EXISTS mesh.revocation (session bytea PRIMARY KEY, until bigint NOT NULL);
CREATE INDEX IF NOT EXISTS revocation_until ON mesh.revocation (until);
CREATE TABLE IF NOT EXISTS mesh.nonce (
    session bytea NOT NULL, nonce text NOT NULL, until bigint NOT NULL, PRIMARY KEY (session, nonce)
);
CREATE INDEX IF NOT EXISTS nonce_until ON mesh.nonce (until);
CREATE TABLE IF NOT EXISTS mesh.query (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bytea NOT NULL UNIQUE, format text NOT NULL,
    text text NOT NULL
);
CREATE TABLE IF NOT EXISTS mesh.attempt (key bytea PRIMARY KEY, step bigint NOT NULL, paid_off bigint NOT NULL);
COMMIT;
";

/// Two servers that use one nonce at the same time meet at its row: one of them changes it.
const REMEMBER: &str =
    "INSERT INTO mesh.nonce AS n (session, nonce, until) VALUES ($1::bytea, $2::text, $3::bigint)
    ON CONFLICT (session, nonce) DO UPDATE SET until = excluded.until WHERE n.until <= $4::bigint
    RETURNING 1";

/// State in the database that is served. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct State {
    pool: Arc<Pool>,
    other_servers: Arc<OtherServers>,
    /// How many registered queries are kept.
    queries: usize,
    next_sweep: Arc<AtomicU64>,
}

impl Database {
    /// The state that all servers of this database share, in tables that are made where they are missing. Of
    /// registered queries the newest so many are kept.
    ///
    /// # Errors
    /// When the account may not make them.
    pub async fn state(&self, queries: usize) -> Result<State, OpenError> {
        let failed = |cause| OpenError { database: self.pool.name().to_owned(), cause };
        let mut lease = self.writes.take(false).await.map_err(|error| failed(error.into()))?;
        let made = lease.begin().client().batch_execute(TABLES).await;
        made.map_err(|error| failed(error.into()))?;
        lease.done();
        self.other_servers.revoked.want();
        self.other_servers.start();
        let (pool, other_servers) = (Arc::clone(&self.writes), Arc::clone(&self.other_servers));
        Ok(State { pool, other_servers, queries, next_sweep: Arc::default() })
    }
}

/// Why the state could not be read or written.
#[derive(Debug)]
enum Failure {
    Pool(PoolError),
    Driver(tokio_postgres::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(error) => f.write_str(&with_causes(error)),
            Self::Driver(error) => f.write_str(&with_causes(error)),
        }
    }
}

impl std::error::Error for Failure {}

impl State {
    /// Runs one statement, once more on a new connection where the first one turns out to be broken. All that is
    /// run here can be run twice.
    async fn run(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, Failure> {
        let mut fresh = false;
        loop {
            let mut lease = self.pool.take(fresh).await.map_err(Failure::Pool)?;
            let result = if self.pool.has_pooler() {
                let typed: Vec<_> =
                    params.iter().map(|param| (param as &(dyn ToSql + Sync), Type::UNKNOWN)).collect();
                lease.begin().client().query_typed(sql, &typed).await
            } else {
                let link = lease.begin();
                let params: Vec<_> = params.iter().map(|param| param as &(dyn ToSql + Sync)).collect();
                match link.prepare(sql).await {
                    Ok(statement) => link.client().query(&statement, &params).await,
                    Err(error) => Err(error),
                }
            };
            lease.done();
            match result {
                Err(error) if !fresh && (error.is_closed() || error.code().is_none()) => fresh = true,
                result => return result.map_err(Failure::Driver),
            }
        }
    }

    fn sweep_when_due(&self, now: u64) {
        let due = self.next_sweep.load(Ordering::Relaxed);
        let next = now.saturating_add(SWEEP_EVERY);
        if now < due
            || self.next_sweep.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let state = self.clone();
        // Nobody waits for it; where it fails, the next one may succeed.
        tokio::spawn(async move {
            for (table, until) in [("nonce", "until"), ("revocation", "until"), ("attempt", "paid_off")] {
                let sql = format!("DELETE FROM mesh.{table} WHERE {until} <= $1::bigint");
                if let Err(error) = state.run(&sql, &[number(now)]).await {
                    tracing::warn!("old entries of mesh.{table} were not dropped: {error}");
                }
            }
        });
    }
}

impl NonceStore for State {
    fn remember<'a>(
        &'a self,
        session: SessionId,
        nonce: &'a str,
        until: u64,
        now: u64,
    ) -> MaybeReady<'a, Result<bool, StoreError>> {
        Either::Right(Box::pin(async move {
            self.sweep_when_due(now);
            let nonce = TextParam(Some(Cow::Borrowed(nonce)));
            let params = [bytes(&session.0), nonce, number(until), number(now)];
            let rows = self.run_once(REMEMBER, &params).await.map_err(StoreError::new)?;
            Ok(!rows.is_empty())
        }))
    }
}

impl State {
    /// Runs a statement that must not run twice.
    async fn run_once(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, Failure> {
        let mut lease = self.pool.take(false).await.map_err(Failure::Pool)?;
        let typed: Vec<_> =
            params.iter().map(|param| (param as &(dyn ToSql + Sync), Type::UNKNOWN)).collect();
        let rows = lease.begin().client().query_typed(sql, &typed).await;
        lease.done();
        rows.map_err(Failure::Driver)
    }
}

impl QueryStore for State {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        Box::pin(async move {
            let sql = "SELECT format, text FROM mesh.query WHERE id = $1::bytea";
            let rows = self.run(sql, &[bytes(id.as_bytes())]).await.map_err(QueryStoreError::new)?;
            Ok(rows.first().and_then(|row| {
                let format = Format::parse(row.get(0))?;
                Some(PersistedQuery::new(format, row.get::<_, String>(1)))
            }))
        })
    }

    fn keep<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        Box::pin(async move {
            let id = query.id();
            let text = |text: &'a str| TextParam(Some(Cow::Borrowed(text)));
            let params = [bytes(id.as_bytes()), text(query.format().name()), text(query.text())];
            let sql = "INSERT INTO mesh.query (id, format, text) VALUES ($1::bytea, $2::text, $3::text) \
                       ON CONFLICT (id) DO NOTHING";
            self.run(sql, &params).await.map_err(QueryStoreError::new)?;
            let sql = "DELETE FROM mesh.query WHERE number <= \
                       (SELECT number FROM mesh.query ORDER BY number DESC OFFSET $1::bigint LIMIT 1)";
            self.run(sql, &[number(self.queries as u64)]).await.map_err(QueryStoreError::new)?;
            Ok(())
        })
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("database", &self.pool.name()).finish_non_exhaustive()
    }
}

fn bytes(bytes: &[u8]) -> TextParam<'static> {
    let value = mesh_plan::Value::Bytes(bytes.to_vec());
    TextParam(mesh_plan::sql::postgres::text(&value).map(Cow::Owned))
}

/// Times past what the database's integers hold are as good as the last one that they do.
fn number(number: u64) -> TextParam<'static> {
    TextParam(Some(Cow::Owned(number.min(i64::MAX as u64).to_string())))
}
