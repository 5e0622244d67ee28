//! A bounded pool of connections. A statement uses a connection exclusively while it runs.

pub(crate) mod connect_url;
pub(crate) mod connection;
pub(crate) mod hosts;
pub(crate) mod statements;

use std::sync::Arc;

use mesh_backend::pool::{ErrorKind, Purpose, RowBudget, Servers, Slots};
use mesh_plan::Value;
use mesh_plan::backend::{Repeats, Usage};
use mesh_sql::mysql::BINARY_COLLATION;
use mysql_async::{Error, Row};
use tokio::sync::{Semaphore, SemaphorePermit};

use self::connect_url::ConnectUrl;
use self::connection::Connection;
use self::statements::{Statements, server_bytes};
use crate::settings::Settings;

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
    /// A value is a subquery with several rows, as in the test of a time zone.
    pub(crate) const SEVERAL_ROWS: u16 = 1242;
    pub(crate) const OUT_OF_RANGE: u16 = 1690;
    pub(crate) const KILLED: u16 = 1927;
    pub(crate) const STATEMENT_TIMEOUT: u16 = 1969;
}

/// Connections to the servers of a URL. A slot is held while a connection is in use. If a connection was given up, its
/// slot is held until its statement has ended.
pub(crate) struct Pool {
    url: ConnectUrl,
    purpose: Purpose,
    settings: Settings,
    /// The statements that a connection begins with.
    init: Vec<String>,
    slots: Slots<Connection>,
    /// The memory of the database for the plans of statements that run, in units.
    planning: Semaphore,
    /// The statements that came before on a connection.
    repeats: Arc<Repeats>,
}

/// The reason why a statement has no result.
pub(crate) type PoolError = mesh_backend::pool::PoolError<Connection>;
/// The right to use a connection.
pub(crate) type Lease = mesh_backend::pool::Lease<Connection>;

/// Returns the kind of an error.
pub(crate) fn kind(error: &Error) -> ErrorKind {
    let code = match error {
        Error::Io(_) | Error::Driver(_) => return ErrorKind::Stale,
        Error::Server(cause) => cause.code,
        _ => return ErrorKind::Other,
    };
    match code {
        code::SHUTDOWN | code::KILLED | code::NOT_READY => ErrorKind::Stale,
        code::TOO_MANY_CONNECTIONS | code::TOO_MANY_CONNECTIONS_OF_USER | code::LIMIT_OF_ACCOUNT => {
            ErrorKind::Full
        }
        // A read does not wait for locks, but it waits for the other servers of its cluster. The reply of a write loses a deadlock
        // if another server of the cluster commits.
        code::LOCK_WAIT_TIMEOUT | code::DEADLOCK => ErrorKind::Blocked,
        code::INTERRUPTED | code::STATEMENT_TIMEOUT => ErrorKind::TimedOut,
        code::OUT_OF_RANGE => ErrorKind::OutOfRange,
        code::SEVERAL_ROWS => ErrorKind::InvalidValue,
        _ => ErrorKind::Other,
    }
}

/// Returns whether the database responded with one of these errors.
pub(crate) fn is_one_of(error: &Error, codes: &[u16]) -> bool {
    matches!(error, Error::Server(cause) if codes.contains(&cause.code))
}

impl Pool {
    pub(crate) fn new(url: ConnectUrl, settings: &Settings, purpose: Purpose, is_in_cluster: bool) -> Self {
        Self {
            url,
            purpose,
            init: init(settings, purpose, is_in_cluster),
            slots: Slots::new(settings.connections, settings.idle_timeout, settings.wait),
            planning: Semaphore::new(PLANNING_UNITS),
            repeats: Arc::default(),
            settings: settings.clone(),
        }
    }

    /// Returns the URL of the database without a password.
    pub(crate) fn name(&self) -> &str {
        &self.url.name
    }

    /// Returns usage figures.
    pub(crate) fn usage(&self) -> Usage {
        self.slots.usage(self.settings.connections)
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
        &self,
        sql: &str,
        params: &[Value],
        budget: RowBudget,
    ) -> Result<Vec<Row>, PoolError> {
        let _planning = self.planning_permit(sql).await?;
        let run = |mut lease: Lease| async move { lease.run(sql, params, budget).await };
        Ok(self.slots.run(self, run).await?.rows)
    }

    /// Takes a connection ([`Slots::take`]).
    pub(crate) async fn take(&self, fresh: bool) -> Result<Lease, PoolError> {
        self.slots.take(self, fresh).await
    }

    /// Opens a connection that needs no slot, for work whose duration depends on a client.
    pub(crate) async fn take_extra(&self) -> Result<Lease, PoolError> {
        self.slots.take_extra(self).await
    }
}

impl Servers for Pool {
    type Connection = Connection;

    async fn connect(&self) -> Result<Connection, PoolError> {
        let hosts = &self.url.hosts;
        let (host, conn) = hosts.open(self.purpose, &self.init).await?;
        Ok(Connection::new(
            conn,
            hosts.clone(),
            host,
            Statements::new(self.settings.statements, &self.repeats),
        ))
    }

    /// The servers of a cluster do not respond while they detect that one is missing.
    fn is_temporary(&self, error: &PoolError) -> bool {
        error.is_full() || (self.url.hosts.has_several() && error.is_unreachable())
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
