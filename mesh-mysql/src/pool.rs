//! A bounded pool of connections. A statement uses a connection exclusively while it runs.

pub(crate) mod connect_url;
pub(crate) mod connection;
pub(crate) mod hosts;
mod row_size;
pub(crate) mod statements;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_backend::pool::{BudgetExceeded, IdleConnections, RowBudget};
use mesh_plan::Value;
use mesh_plan::backend::{Repeats, Usage, WaitCounter};
use mesh_sql::mysql::BINARY_COLLATION;
use mysql_async::prelude::Queryable as _;
use mysql_async::{Error, Row};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use self::connect_url::ConnectUrl;
use self::connection::Connection;
use self::statements::{Statements, server_bytes};
use crate::settings::Settings;

/// The time limit for ending a statement, after which its connection is dropped.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between attempts to connect to a server that accepts no more connections.
const ROOM_INTERVAL: Duration = Duration::from_millis(20);
/// The time that a statement waits for a lock of another transaction.
const LOCK_WAIT_SECONDS: u64 = 10;
/// The number of tables whose order the optimizer tries in all ways. With the default of 62 it takes more than 10 s for 8
/// conditions on relations with 3 hops each, with 5 it takes 0.3 s, and with less it finds fewer good orders.
const SEARCH_DEPTH: u32 = 5;
/// The estimated memory from which a statement waits for others of its kind: some 20 tables, which few queries read.
const PLANNING_UNIT: usize = 1 << 20;
/// The memory for the plans of all statements that run on a pool, in units, so that they take less than the database's caches
/// usually do. A statement that needs more runs alone.
const PLANNING_UNITS: usize = 128;

/// Errors of the database by number.
pub(crate) mod code {
    /// The server has lost the connection to its cluster.
    pub(crate) const NOT_READY: u16 = 1047;
    pub(crate) const TOO_MANY_CONNECTIONS: u16 = 1040;
    pub(crate) const TOO_MANY_CONNECTIONS_OF_USER: u16 = 1203;
    pub(crate) const LIMIT_OF_ACCOUNT: u16 = 1226;
    pub(crate) const SHUTDOWN: u16 = 1053;
    pub(crate) const LOCK_WAIT_TIMEOUT: u16 = 1205;
    pub(crate) const DEADLOCK: u16 = 1213;
    pub(crate) const INTERRUPTED: u16 = 1317;
    pub(crate) const OUT_OF_RANGE: u16 = 1690;
    pub(crate) const KILLED: u16 = 1927;
    pub(crate) const STATEMENT_TIMEOUT: u16 = 1969;
}

/// The purpose of the connections of a pool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Transactions are read-only.
    Read,
    /// Transactions can write.
    Write,
}

/// Connections to the servers of a URL. A slot is held while a connection is in use. If a connection was given up, its
/// slot is held until its statement has ended.
pub(crate) struct Pool {
    target: ConnectUrl,
    purpose: Purpose,
    settings: Settings,
    /// The statements that a connection begins with.
    init: Vec<String>,
    slots: Arc<Semaphore>,
    waits: WaitCounter,
    idle: Arc<IdleConnections<Connection>>,
    /// The memory of the database for the plans of statements that run, in units.
    planning: Semaphore,
    /// The statements that came before on a connection.
    repeats: Arc<Repeats>,
}

/// The reason why a statement has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PoolError {
    /// All connections stayed in use for as long as a request waits.
    #[error("all connections to the database are in use")]
    Exhausted,
    /// The server did not accept a connection in time.
    #[error("the database does not respond")]
    TimedOut,
    /// The server has lost the connection to its cluster.
    #[error("the database is not connected to its cluster")]
    NotReady,
    /// No connection could be opened.
    #[error("cannot connect to the database: {0}")]
    Refused(Error),
    /// The statement returns more rows or bytes than it may.
    #[error(transparent)]
    Exceeded(#[from] BudgetExceeded),
    /// The connection or the statement failed.
    #[error("{0}")]
    Failed(Error),
}

impl From<Error> for PoolError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl PoolError {
    /// Returns whether the server cannot be reached.
    pub(crate) fn is_unreachable(&self) -> bool {
        match self {
            Self::Exhausted | Self::Exceeded(_) => false,
            Self::TimedOut | Self::NotReady | Self::Refused(_) => true,
            Self::Failed(error) => is_stale(error),
        }
    }

    /// Returns whether the server accepts no more connections.
    fn is_full(&self) -> bool {
        const FULL: [u16; 3] =
            [code::TOO_MANY_CONNECTIONS, code::TOO_MANY_CONNECTIONS_OF_USER, code::LIMIT_OF_ACCOUNT];
        matches!(self, Self::Refused(error) if is_one_of(error, &FULL))
    }
}

/// Returns whether a connection is broken, so that a statement may succeed on a new one.
pub(crate) fn is_stale(error: &Error) -> bool {
    match error {
        Error::Io(_) | Error::Driver(_) => true,
        error => is_one_of(error, &[code::SHUTDOWN, code::KILLED, code::NOT_READY]),
    }
}

/// Returns whether a read may succeed on another connection.
fn may_be_repeated(error: &Error) -> bool {
    // A read does not wait for locks, but it waits for the other servers of its cluster.
    is_stale(error) || is_one_of(error, &[code::LOCK_WAIT_TIMEOUT])
}

/// Returns whether the database responded with one of these errors.
pub(crate) fn is_one_of(error: &Error, codes: &[u16]) -> bool {
    matches!(error, Error::Server(cause) if codes.contains(&cause.code))
}

impl Pool {
    pub(crate) fn new(
        target: ConnectUrl,
        settings: &Settings,
        purpose: Purpose,
        is_in_cluster: bool,
    ) -> Self {
        Self {
            target,
            purpose,
            init: init(settings, purpose, is_in_cluster),
            slots: Arc::new(Semaphore::new(settings.connections)),
            waits: WaitCounter::default(),
            idle: IdleConnections::new(settings.idle_timeout),
            planning: Semaphore::new(PLANNING_UNITS),
            repeats: Arc::default(),
            settings: settings.clone(),
        }
    }

    /// Returns the URL of the database without a password.
    pub(crate) fn name(&self) -> &str {
        &self.target.name
    }

    /// Returns usage figures.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            idle: self.idle.count(),
            slots: self.settings.connections,
            free: self.slots.available_permits(),
            waits: self.waits.count(),
            waited: self.waits.total(),
            ..Usage::default()
        }
    }

    /// Waits until the database may use the memory that it needs for the plan of a statement. Almost all statements need no permit.
    /// Large statements follow each other, so only the deadline of the read limits the wait.
    async fn planning_permit(&self, sql: &str) -> Result<Option<SemaphorePermit<'_>>, PoolError> {
        let units = server_bytes(sql) / PLANNING_UNIT;
        if units == 0 {
            return Ok(None);
        }
        let units = u32::try_from(units.min(PLANNING_UNITS)).unwrap_or(u32::MAX);
        self.planning.acquire_many(units).await.map(Some).map_err(|_| PoolError::Exhausted)
    }

    /// Runs an idempotent statement, and repeats it on a new connection if the first one is broken. Stops reading when
    /// the rows exceed the budget.
    pub(crate) async fn run(
        self: &Arc<Self>,
        sql: &str,
        params: &[Value],
        budget: RowBudget,
    ) -> Result<Vec<Row>, PoolError> {
        let _planning = self.planning_permit(sql).await?;
        let mut fresh = false;
        loop {
            let mut lease = self.take(fresh).await?;
            match lease.run(sql, params, budget).await {
                Err(PoolError::Failed(error)) if !fresh && may_be_repeated(&error) => {
                    tracing::debug!("running a statement again on a new connection: {error}");
                    fresh = true;
                }
                ran => return ran.map(|ran| ran.rows),
            }
        }
    }

    /// Returns an idle connection or opens one, and waits for a free slot for as long as the settings allow. `fresh` closes the
    /// idle connections and opens a new one, for callers that found a broken one: others may be broken too.
    pub(crate) async fn take(self: &Arc<Self>, fresh: bool) -> Result<Lease, PoolError> {
        let slot = match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(slot) => slot,
            Err(_) => {
                let waiting = Arc::clone(&self.slots).acquire_owned();
                let start = Instant::now();
                let slot = tokio::time::timeout(self.settings.wait, waiting).await;
                self.waits.record(start.elapsed());
                slot.ok().and_then(Result::ok).ok_or(PoolError::Exhausted)?
            }
        };
        let connection = match self.take_idle(fresh) {
            Some(connection) => connection,
            None => Box::pin(self.connect_or_wait()).await?,
        };
        Ok(Lease { connection: Some(connection), pool: Arc::clone(self), slot: Some(slot) })
    }

    /// Opens a connection that needs no slot, for work whose duration depends on a client.
    pub(crate) async fn take_extra(self: &Arc<Self>) -> Result<Lease, PoolError> {
        Ok(Lease { connection: Some(self.connect().await?), pool: Arc::clone(self), slot: None })
    }

    /// Returns an idle connection. `fresh` closes all that are idle.
    fn take_idle(&self, fresh: bool) -> Option<Connection> {
        std::iter::from_fn(|| self.idle.take()).find(|_| !fresh)
    }

    /// Opens a connection. If the server accepts no more connections, or none of several servers can be reached, waits
    /// until that has changed or until a connection of the pool is idle, for as long as the settings allow.
    async fn connect_or_wait(&self) -> Result<Connection, PoolError> {
        let start = Instant::now();
        loop {
            match self.connect().await {
                Err(error) if self.is_temporary(&error) && start.elapsed() < self.settings.wait => {}
                connection => return connection,
            }
            tokio::time::sleep(ROOM_INTERVAL).await;
            if let Some(connection) = self.take_idle(false) {
                self.waits.record(start.elapsed());
                return Ok(connection);
            }
        }
    }

    /// Returns whether an error may be temporary. The servers of a cluster do not respond while they detect that one is
    /// missing.
    fn is_temporary(&self, error: &PoolError) -> bool {
        error.is_full() || (self.target.hosts.has_several() && error.is_unreachable())
    }

    /// Opens a connection outside of the pool.
    pub(crate) async fn connect(&self) -> Result<Connection, PoolError> {
        let opened = self.target.hosts.open(self.purpose, &self.init).await;
        let statements = || Statements::new(self.settings.statements, &self.repeats);
        opened.map(|(host, conn)| Connection::new(conn, host, statements()))
    }

    /// Ends the running statement of a connection.
    async fn kill_query(&self, (host, connection): (usize, u32)) -> Result<(), Error> {
        let mut other = self.target.hosts.open_host(host, &[]).await?;
        other.query_drop(format!("KILL QUERY {connection}")).await?;
        other.disconnect().await
    }
}

/// The variables of a session that change what statements mean, with the values that the statements of this crate are written
/// for. The database takes the values of new sessions from the settings of its server.
const VARIABLES: &[(&str, &str)] = &[
    // Values that do not fit are refused, and backslashes are escapes.
    ("sql_mode", "'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"),
    ("time_zone", "'+00:00'"),
    ("autocommit", "1"),
    ("completion_type", "'NO_CHAIN'"),
    ("foreign_key_checks", "1"),
    ("unique_checks", "1"),
    // No limits on the rows of a result or of a write.
    ("sql_select_limit", "18446744073709551615"),
    ("sql_big_selects", "1"),
    ("sql_safe_updates", "0"),
    ("sql_auto_is_null", "0"),
    // Texts are sorted by their first bytes, by as many as fit the buffer of a sort for each of several keys. Cursors compare
    // whole texts.
    ("max_sort_length", "16384"),
    ("div_precision_increment", "4"),
    ("tx_isolation", READ_COMMITTED),
    ("check_constraint_checks", "1"),
    ("old_mode", "''"),
    ("default_regex_flags", "''"),
    // NULL is not the current time. The comment hides the variable from versions in which it cannot be set.
    ("/*!100804 explicit_defaults_for_timestamp", "1 */"),
];

/// A statement that waited for another transaction sees what it has written.
const READ_COMMITTED: &str = "'READ-COMMITTED'";

/// Returns the statement that a connection begins with. It sets all variables at once, in one round trip.
fn init(settings: &Settings, purpose: Purpose, is_in_cluster: bool) -> Vec<String> {
    let limit = format!("max_statement_time = {}", settings.statement_timeout.as_secs_f64());
    let access = format!("tx_read_only = {}", u8::from(purpose == Purpose::Read));
    let names = format!("NAMES utf8mb4 COLLATE {BINARY_COLLATION}");
    let wait = format!("innodb_lock_wait_timeout = {LOCK_WAIT_SECONDS}");
    let search = format!("optimizer_search_depth = {SEARCH_DEPTH}");
    let mut assignments = vec![names, limit, access, wait, search];
    if is_in_cluster {
        // A transaction begins after all transactions that were committed earlier on any server, so a read sees them.
        assignments.push("wsrep_sync_wait = 1".to_owned());
    }
    assignments.extend(VARIABLES.iter().map(|(name, value)| format!("{name} = {value}")));
    vec![format!("SET {}", assignments.join(", "))]
}

/// The right to use a connection. If a lease is dropped while a statement is running, as when the future of a read is dropped
/// because its client has disconnected, the statement is ended and the connection closed. A connection with an open
/// transaction is closed, too.
pub(crate) struct Lease {
    connection: Option<Connection>,
    pool: Arc<Pool>,
    slot: Option<OwnedSemaphorePermit>,
}

impl std::ops::Deref for Lease {
    type Target = Connection;

    #[expect(clippy::expect_used, reason = "the connection is taken on drop only")]
    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a lease has a connection")
    }
}

impl std::ops::DerefMut for Lease {
    #[expect(clippy::expect_used, reason = "the connection is taken on drop only")]
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a lease has a connection")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if connection.is_free() {
            if self.slot.is_some() {
                self.pool.idle.add(connection);
            }
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let (pool, slot, is_running) = (Arc::clone(&self.pool), self.slot.take(), connection.is_running());
        runtime.spawn(async move {
            if is_running {
                // The statement may have ended in the meantime. The connection is not used again, because the command could
                // then end its next statement.
                let killed = tokio::time::timeout(KILL_TIMEOUT, pool.kill_query(connection.address())).await;
                if let Ok(Err(error)) = killed {
                    tracing::debug!("a statement could not be ended: {error}");
                }
            }
            drop(connection);
            drop(slot);
        });
    }
}
