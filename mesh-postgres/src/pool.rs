//! A bounded pool of connections. Light reads share some of them; any other statement uses one exclusively while it
//! runs.

pub(crate) mod batches;
pub(crate) mod connect_url;
pub(crate) mod hosts;
pub(crate) mod link;
pub(crate) mod replicas;
mod row_size;
mod session;
pub(crate) mod shared;
mod tls;
pub(crate) mod weight;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_backend::pool::{BudgetExceeded, IdleConnections, RowBudget};
use mesh_plan::backend::{Usage, WaitCounter};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row};

use self::batches::{BatchStatement, Batches, Turn};
use self::connect_url::ConnectUrl;
use self::hosts::{Hosts, LinkWithNotifications};
use self::link::Link;
pub(crate) use self::session::Purpose;
use self::session::SESSION;
use self::shared::{LOCK_TIMEOUT, ROW_BYTES, SLOW_RUN_TIME, STATEMENT_TIMEOUT, SharedLinks, SharedRead};
use self::weight::Weight;
use crate::error::with_causes;
use crate::settings::Settings;
use crate::sql::TextParam;

/// The time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for cancelling a statement, after which its connection is dropped.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between attempts to connect to a server that accepts no more connections.
const ROOM_INTERVAL: Duration = Duration::from_millis(20);
/// The time after which a statement that still runs is cancelled again.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// Connections to one server. A slot is held while a connection is in use. If the statement of a connection is
/// cancelled, its slot is held until the connection is closed. A shared connection holds a slot while it is open.
pub(crate) struct Pool {
    target: ConnectUrl,
    purpose: Purpose,
    settings: Settings,
    begin: Arc<str>,
    slots: Arc<Semaphore>,
    waits: WaitCounter,
    idle: Arc<IdleConnections<Arc<Link>>>,
    /// The connections that light reads share.
    shared: Arc<SharedLinks>,
    batches: Arc<Batches>,
    /// Slots that only shared connections take.
    reserved: Arc<Semaphore>,
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
    /// No connection could be opened.
    #[error("cannot connect to the database: {}", with_causes(.0))]
    Refused(Error),
    /// No host of the database fits, for this reason.
    #[error("{0}")]
    NoHost(Arc<str>),
    /// The statement returns more rows or bytes than it may.
    #[error(transparent)]
    Exceeded(#[from] BudgetExceeded),
    /// The connection or the statement failed.
    #[error("{}", with_causes(.0))]
    Failed(Error),
}

impl From<Error> for PoolError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl PoolError {
    /// Returns whether the server cannot be reached, so that another one may answer.
    pub(crate) fn is_unreachable(&self) -> bool {
        match self {
            Self::Exhausted | Self::Exceeded(_) => false,
            Self::TimedOut | Self::Refused(_) | Self::NoHost(_) => true,
            Self::Failed(error) => is_stale(error),
        }
    }

    /// Returns whether the server accepts no more connections.
    fn is_full(&self) -> bool {
        matches!(self, Self::Refused(error) if is_full(error))
    }
}

/// Returns whether a server accepts no more connections.
fn is_full(error: &Error) -> bool {
    error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS)
}

/// Returns whether a connection is broken or a prepared statement is out of date, so that the statement may succeed on
/// a new connection.
pub(crate) fn is_stale(error: &Error) -> bool {
    let Some(cause) = error.as_db_error() else {
        return error.is_closed()
            || std::error::Error::source(error).is_some_and(|it| it.is::<std::io::Error>());
    };
    let stale = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::INVALID_SQL_STATEMENT_NAME,
        // A replica cancels reads that conflict with replay.
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    let code = cause.code();
    stale.contains(code)
        || code.code().starts_with("08")
        // The tables of a prepared statement were altered. The message is localized and all unsupported features share
        // the code, so the routine in the source of PostgreSQL identifies the error.
        || *code == SqlState::FEATURE_NOT_SUPPORTED && cause.routine() == Some("RevalidateCachedQuery")
}

impl Pool {
    pub(crate) fn new(mut target: ConnectUrl, settings: &Settings, purpose: Purpose) -> Self {
        let milliseconds = |timeout: Duration| timeout.as_millis().to_string();
        let mut parameters = Vec::from(SESSION.map(|(name, value)| (name, value.to_owned())));
        parameters.extend(target.search_path().map(|path| ("search_path", path)));
        let mut begin = String::from("BEGIN");
        if purpose == Purpose::Read {
            begin.push_str(" READ ONLY");
            if target.hosts.is_checked() && !settings.pooler {
                // If this session were read-only, the check could not see whether the transactions of the host are.
                target.after_check = "SET default_transaction_read_only = on".to_owned();
            } else {
                parameters.push(("default_transaction_read_only", "on".to_owned()));
            }
        }
        let mut shared_target = target.clone();
        shared_target.add_options(&parameters);
        let timeout = milliseconds(STATEMENT_TIMEOUT.min(settings.statement_timeout));
        let lock_timeout = milliseconds(LOCK_TIMEOUT);
        shared_target.add_options(&[("statement_timeout", timeout), ("lock_timeout", lock_timeout)]);
        parameters.push(("statement_timeout", milliseconds(settings.statement_timeout)));
        if settings.pooler {
            begin.extend(parameters.iter().map(|(name, value)| format!("; SET LOCAL {name} = {value}")));
        } else {
            target.add_options(&parameters);
        }
        // Behind a pooler a read is a transaction of several statements, and statements of other reads must not come in
        // between.
        let is_shared = purpose == Purpose::Read && !settings.pooler && settings.connections > 1;
        let reserved = if is_shared { (settings.connections / 4).max(1) } else { 0 };
        let slots = Arc::new(Semaphore::new(settings.connections - reserved));
        let reserved = Arc::new(Semaphore::new(reserved));
        let shared_slots = [&reserved, &slots].map(Arc::clone);
        let max_shared = if is_shared { settings.connections / 2 } else { 0 };
        let shared = SharedLinks::new(shared_target, settings, max_shared, shared_slots);
        Self {
            target,
            purpose,
            begin: begin.into(),
            slots,
            waits: WaitCounter::default(),
            idle: IdleConnections::new(settings.idle_timeout),
            batches: Arc::new(Batches::new(Arc::clone(&shared))),
            shared,
            reserved,
            settings: settings.clone(),
        }
    }

    /// Returns the URL of the database without a password.
    pub(crate) fn name(&self) -> &str {
        &self.target.name
    }

    /// Returns whether a pooler may assign another connection to each transaction. If so, no state is kept on a
    /// connection.
    pub(crate) fn has_pooler(&self) -> bool {
        self.settings.pooler
    }

    /// Returns whether light reads share connections.
    pub(crate) fn shares_connections(&self) -> bool {
        self.shared.is_used()
    }

    /// Returns the time limit of a statement.
    pub(crate) fn statement_timeout(&self) -> Duration {
        self.settings.statement_timeout
    }

    /// Returns the time that a request waits for a connection.
    pub(crate) fn wait(&self) -> Duration {
        self.settings.wait
    }

    /// Returns usage figures.
    pub(crate) fn usage(&self) -> Usage {
        let (shared, shared_in_use) = self.shared.counts();
        let unused = shared - shared_in_use;
        Usage {
            idle: self.idle.count() + unused,
            slots: self.settings.connections,
            free: self.slots.available_permits() + self.reserved.available_permits() + unused,
            waits: self.waits.count(),
            waited: self.waits.total(),
            ..Usage::default()
        }
    }

    /// Returns the number of shared connections and the number of answers on them.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> (usize, u64) {
        (self.shared.counts().0, self.shared.answers())
    }

    /// Runs an idempotent statement in a transaction, and repeats it on a new connection if the first one is stale.
    pub(crate) async fn run(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, PoolError> {
        Ok(self.run_within(sql, params, RowBudget::UNLIMITED, false).await?.0)
    }

    /// Runs a read on a shared connection if its statement is light, else on an exclusive one. Stops reading when the
    /// rows exceed the budget. `batch` is the statement for several such reads, if there is one.
    pub(crate) async fn read(
        &self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
        weight: &Weight,
        batch: Option<&Arc<BatchStatement>>,
    ) -> Result<Vec<Row>, PoolError> {
        if weight.is_light()
            && let Some(rows) = self.read_shared(sql, params, budget, weight, batch).await
        {
            return rows.map_err(PoolError::Failed);
        }
        let (rows, took) = Box::pin(self.run_within(sql, params, budget, self.shared.is_used())).await?;
        weight.record(took, &rows);
        Ok(rows)
    }

    /// Runs a light read on a shared connection, alone or in a batch; `None` if it has to run on an exclusive one.
    async fn read_shared(
        &self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
        weight: &Weight,
        batch: Option<&Arc<BatchStatement>>,
    ) -> Option<Result<Vec<Row>, Error>> {
        let budget = budget.at_most(ROW_BYTES);
        let _turn = match batch.map(|batch| self.batches.join(batch, params, budget)) {
            None => None,
            Some(Turn::Now(running)) => Some(running),
            // A read that is not polled keeps its turn, so the wait for it is bounded.
            Some(Turn::InBatch(rows)) => match tokio::time::timeout(STATEMENT_TIMEOUT, rows).await {
                Ok(Ok(rows)) => return Some(Ok(rows)),
                _ => None,
            },
        };
        if !weight.is_light() {
            return None;
        }
        let lease = self.shared.choose()?;
        match lease.query(sql, params, budget).await {
            SharedRead::Ended(rows, took) => {
                weight.record_shared(took >= SLOW_RUN_TIME);
                if let Some(batch) = batch {
                    batch.record(1, took);
                }
                return Some(rows);
            }
            SharedRead::Heavy => weight.record_heavy(),
            SharedRead::Lost(error) => {
                tracing::debug!("running a read again on another connection: {error}");
            }
            SharedRead::Unprepared => {}
        }
        None
    }

    /// Runs an idempotent statement as [`Self::run`] does, and stops reading when the rows exceed the budget. Returns
    /// the rows and the time that the statement took. The time is exact if `is_timed` is set.
    async fn run_within(
        &self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
        is_timed: bool,
    ) -> Result<(Vec<Row>, Duration), PoolError> {
        let mut fresh = false;
        loop {
            let lease = self.take(fresh).await?;
            let start = Instant::now();
            let rows = if is_timed {
                lease.query_timed(sql, params, budget).await
            } else {
                let rows = lease.query_in_transaction(sql, params, budget).await;
                rows.map(|rows| (rows, start.elapsed()))
            };
            match rows {
                Err(PoolError::Failed(error)) if !fresh && is_stale(&error) => {
                    tracing::debug!("running a statement again on a new connection: {error}");
                    fresh = true;
                }
                rows => return rows,
            }
        }
    }

    /// Runs statements without parameters in a transaction.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), PoolError> {
        let link = self.take(false).await?;
        link.begin().await?;
        link.execute(sql).await?;
        Ok(link.end("COMMIT").await?)
    }

    /// Returns an idle connection or opens one, and waits for a free slot for as long as the settings allow. `fresh`
    /// closes the idle connections and opens a new one, for callers that found a broken one: others may be broken too.
    pub(crate) async fn take(&self, fresh: bool) -> Result<Lease, PoolError> {
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
        let link = match self.take_idle(fresh) {
            Some(link) => link,
            // Boxed, so that reads which need no new connection do not carry the state of opening one.
            None => Box::pin(self.connect_or_wait()).await?,
        };
        Ok(Lease { link, idle: Arc::clone(&self.idle), slot: Some(slot) })
    }

    /// Opens a connection that needs no slot, for work whose duration depends on a client.
    pub(crate) async fn take_extra(&self) -> Result<Lease, PoolError> {
        let link = Arc::new(self.connect().await?);
        Ok(Lease { link, idle: Arc::clone(&self.idle), slot: None })
    }

    /// Returns an idle connection that is open. `fresh` closes all that are idle.
    fn take_idle(&self, fresh: bool) -> Option<Arc<Link>> {
        std::iter::from_fn(|| self.idle.take()).find(|link| !fresh && !link.is_closed())
    }

    /// Opens a connection. If the server accepts no more connections, waits until it does or until a connection of the
    /// pool is idle, for as long as the settings allow. A write also waits for a standby to be promoted.
    async fn connect_or_wait(&self) -> Result<Arc<Link>, PoolError> {
        let start = Instant::now();
        loop {
            match self.connect().await {
                Err(error) if self.is_temporary(&error) && start.elapsed() < self.settings.wait => {}
                link => return link.map(Arc::new),
            }
            tokio::time::sleep(ROOM_INTERVAL).await;
            if let Some(link) = self.take_idle(false) {
                self.waits.record(start.elapsed());
                return Ok(link);
            }
        }
    }

    /// Returns whether an error may be temporary, so that a request waits.
    fn is_temporary(&self, error: &PoolError) -> bool {
        let waits_for_promotion = self.purpose == Purpose::Write && self.target.hosts.count() > 1;
        error.is_full() || waits_for_promotion && matches!(error, PoolError::NoHost(_))
    }

    /// Returns the hosts that connections are opened to.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.target.hosts
    }

    /// Opens a connection outside of the pool.
    pub(crate) async fn connect(&self) -> Result<Link, PoolError> {
        Ok(self.connect_listener().await?.0)
    }

    /// Opens a connection outside of the pool, and returns it with the notifications that it receives.
    pub(crate) async fn connect_listener(&self) -> Result<LinkWithNotifications, PoolError> {
        let opening = hosts::open(&self.target, &self.settings, &self.begin);
        tokio::time::timeout(CONNECT_TIMEOUT, opening).await.map_err(|_| PoolError::TimedOut)?
    }
}

/// The right to use a connection. If a lease is dropped while a statement is running, as when the future of a read is
/// dropped because its client has disconnected, the statement is cancelled and the connection closed. A connection with
/// an open transaction is closed, too.
pub(crate) struct Lease {
    link: Arc<Link>,
    idle: Arc<IdleConnections<Arc<Link>>>,
    slot: Option<OwnedSemaphorePermit>,
}

impl std::ops::Deref for Lease {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let link = Arc::clone(&self.link);
        if link.is_free() {
            // A connection without a slot is one more than the settings allow.
            if self.slot.is_some() {
                self.idle.add(link);
            }
        } else if link.is_running()
            && let Ok(runtime) = Handle::try_current()
        {
            let slot = self.slot.take();
            runtime.spawn(async move {
                // The statement may have ended in the meantime. The connection is not used again, because the
                // cancellation could then hit its next statement.
                let _ = tokio::time::timeout(CANCEL_TIMEOUT, link.end_statement(CANCEL_INTERVAL)).await;
                drop((link, slot));
            });
        }
    }
}
