//! Connections that reads share. A statement is sent without waiting for the rows of earlier ones, and PostgreSQL answers
//! all of them in order.
//!
//! A slow statement holds up those behind it. So a connection whose statement has run for [`OVERDUE_TIME`] gets no further
//! reads, and PostgreSQL ends a statement after [`STATEMENT_TIMEOUT`]. Such a read, or one of many rows, is repeated on a
//! connection of its own. A new statement shares connections after a trial: one run on a shared connection. After a run that was
//! too slow or too large, the next trial is after [`ALONE_TIME`].
//!
//! No statement is cancelled, because the cancellation could hit the next one. The answer of a read that was dropped is
//! received and discarded.

#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mesh_backend::pool::{BudgetExceeded, RowBudget};
use mesh_plan::backend::Cache;
use parking_lot::{Mutex, RwLock};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row, Statement};

use crate::pool::connect_url::ConnectUrl;
use crate::pool::connection::Connection;
use crate::pool::error_kind::is_stale;
use crate::pool::host_search;
use crate::settings::Settings;
use crate::sql::TextParam;

/// The time after which PostgreSQL ends a statement on a shared connection.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_millis(100);
/// The time after which PostgreSQL ends a statement that waits for a lock.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(10);
/// The maximum bytes of a read's rows.
const ROW_BYTES: usize = 256 << 10;
/// The time of a statement after which its connection gets no further reads.
const OVERDUE_TIME: Duration = Duration::from_millis(20);
/// The time until the next trial of a statement that took too long or returned too much.
const ALONE_TIME: Duration = Duration::from_secs(5);
/// The memory of the texts of known statements in bytes.
const TEXT_BYTES: usize = 4 << 20;
/// The number of reads on each connection of a runtime from which another connection is opened. With few connections,
/// each message carries many answers.
const READS_TO_GROW: usize = 16;
/// The time without an answer after which a connection is given up. PostgreSQL ends each statement much earlier.
const STALL_TIME: Duration = Duration::from_secs(1);
/// The interval at which connections are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The delay after a connection could not be opened.
const REOPEN_DELAY: Duration = Duration::from_secs(1);

/// The shared connections to one server.
pub(super) struct SharedConnections {
    url: ConnectUrl,
    settings: Settings,
    /// The maximum number of connections.
    max: usize,
    connections: RwLock<Vec<Arc<SharedConnection>>>,
    /// The permit to open a connection.
    opening: Arc<Semaphore>,
    /// The known statements.
    sharing: Cache<Box<str>, Sharing>,
}

/// Whether a statement shares connections.
#[derive(Clone, Copy)]
enum Sharing {
    Always,
    /// Only one run does, from this time on.
    TrialAt(Instant),
}

struct SharedConnection {
    inner: Connection,
    unanswered: Mutex<Unanswered>,
    #[cfg(test)]
    answers: AtomicU64,
}

/// The reads of a connection whose answers have not arrived.
#[derive(Clone, Copy)]
struct Unanswered {
    count: usize,
    /// The time at which PostgreSQL began the statement that runs, or ended the last one.
    since: Instant,
}

/// A read on a shared connection. If it is dropped early, it counts until its answer has arrived.
struct SharedRead {
    connection: Arc<SharedConnection>,
    is_answered: bool,
}

impl SharedConnections {
    /// Creates an empty list of at most `max` connections.
    pub(super) fn new(url: ConnectUrl, settings: &Settings, max: usize) -> Arc<Self> {
        Arc::new(Self {
            url,
            settings: settings.clone(),
            max,
            connections: RwLock::default(),
            opening: Arc::new(Semaphore::new(1)),
            sharing: Cache::new(TEXT_BYTES),
        })
    }

    /// Returns the number of open connections and the number of connections in use.
    pub(super) fn counts(&self) -> (usize, usize) {
        let connections = self.connections.read();
        (connections.len(), connections.iter().filter(|connection| connection.unanswered().count > 0).count())
    }

    /// Returns the maximum number of connections.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Returns the number of answers on the open connections.
    #[cfg(test)]
    pub(super) fn answers(&self) -> u64 {
        let connections = self.connections.read();
        connections.iter().map(|connection| connection.answers.load(Ordering::Relaxed)).sum()
    }

    /// Runs a statement and collects its rows; `None` if it has to run on a connection of its own.
    pub(super) async fn read(
        self: &Arc<Self>,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> Option<Result<Vec<Row>, Error>> {
        let is_trial = self.may_share(sql)?;
        let read = self.choose()?;
        if is_trial {
            self.set_alone(sql);
        }
        let rows = match read.run(sql, params, budget.at_most(ROW_BYTES)).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(_)) => {
                self.set_alone(sql);
                // The rest of the rows has not arrived, so the read has not ended.
                return None;
            }
            Err(error) => Err(error),
        };
        let connection = read.end();
        match rows {
            Err(error) if is_too_slow(&error) => {
                self.set_alone(sql);
                None
            }
            Err(error) if is_stale(&error) => {
                tracing::debug!("running a read again on another connection: {error}");
                self.remove(&connection);
                None
            }
            rows => {
                if is_trial {
                    self.set_sharing(sql, Sharing::Always);
                }
                Some(rows)
            }
        }
    }

    /// Returns whether a statement shares connections after a trial.
    pub(super) fn shares(&self, sql: &str) -> bool {
        matches!(self.sharing.get(sql), Some(Sharing::Always))
    }

    /// Returns whether a statement may share a connection now, and if so, whether this is a trial.
    pub(super) fn may_share(&self, sql: &str) -> Option<bool> {
        match self.sharing.get(sql) {
            _ if self.max == 0 => None,
            Some(Sharing::Always) => Some(false),
            Some(Sharing::TrialAt(time)) => (time <= Instant::now()).then_some(true),
            None => {
                self.set_sharing(sql, Sharing::TrialAt(Instant::now()));
                None
            }
        }
    }

    /// Keeps a statement from sharing connections until its next trial.
    pub(super) fn set_alone(&self, sql: &str) {
        self.set_sharing(sql, Sharing::TrialAt(Instant::now() + ALONE_TIME));
    }

    fn set_sharing(&self, sql: &str, sharing: Sharing) {
        self.sharing.insert(sql.into(), sharing, sql.len());
    }

    /// Chooses the connection with the fewest reads, preferably one of the current runtime: messages of a connection of
    /// another runtime wake two threads. Opens another connection in the background if there are too few. `None` if there
    /// is no connection, or the statements of all take too long.
    fn choose(self: &Arc<Self>) -> Option<SharedRead> {
        let runtime = Handle::current().id();
        let (chosen, count, own, has_closed) = {
            let connections = self.connections.read();
            let open = connections.iter().filter(|connection| !connection.inner.is_closed());
            let own = open.clone().filter(|connection| connection.inner.runtime == runtime).count();
            let usable = open.clone().filter(|connection| !connection.unanswered().is_late(OVERDUE_TIME));
            let rank = |connection: &&Arc<SharedConnection>| {
                (connection.inner.runtime != runtime, connection.unanswered().count)
            };
            (usable.min_by_key(rank).cloned(), connections.len(), own, open.count() < connections.len())
        };
        if has_closed {
            // The task that watches a connection ends with its runtime.
            self.connections.write().retain(|connection| !connection.inner.is_closed());
        }
        // Each runtime gets one connection, if possible, before other runtimes get more.
        let is_busy = chosen.as_ref().is_none_or(|chosen| chosen.unanswered().count >= READS_TO_GROW);
        if own == 0 && count < self.max || is_busy && count < (self.max / 2).max(1) {
            self.open_another();
        }
        let connection = chosen?;
        let mut unanswered = connection.unanswered.lock();
        if unanswered.count == 0 {
            unanswered.since = Instant::now();
        }
        unanswered.count += 1;
        drop(unanswered);
        Some(SharedRead { connection, is_answered: false })
    }

    /// Opens a connection in the background, unless one is being opened.
    fn open_another(self: &Arc<Self>) {
        let Ok(permit) = Arc::clone(&self.opening).try_acquire_owned() else { return };
        let all = Arc::clone(self);
        tokio::spawn(async move {
            // No transaction is begun on a shared connection.
            match host_search::open(&all.url, &all.settings, &Arc::from("")).await {
                Ok((inner, _)) => all.add(inner),
                Err(error) => {
                    tracing::debug!("no shared connection was opened: {error}");
                    tokio::time::sleep(REOPEN_DELAY).await;
                }
            }
            drop(permit);
        });
    }

    fn add(self: &Arc<Self>, inner: Connection) {
        let connection = Arc::new(SharedConnection {
            inner,
            unanswered: Mutex::new(Unanswered { count: 0, since: Instant::now() }),
            #[cfg(test)]
            answers: AtomicU64::new(0),
        });
        tokio::spawn(watch(Arc::downgrade(self), Arc::downgrade(&connection), self.settings.idle_timeout));
        self.connections.write().push(connection);
    }

    /// Removes a connection, which is closed when the reads on it have ended.
    fn remove(&self, connection: &Arc<SharedConnection>) {
        self.connections.write().retain(|it| !Arc::ptr_eq(it, connection));
    }
}

impl SharedConnection {
    fn unanswered(&self) -> Unanswered {
        *self.unanswered.lock()
    }

    fn record_answer(&self) {
        #[cfg(test)]
        self.answers.fetch_add(1, Ordering::Relaxed);
        let mut unanswered = self.unanswered.lock();
        *unanswered = Unanswered { count: unanswered.count - 1, since: Instant::now() };
    }
}

impl Unanswered {
    /// Returns whether the statement that runs has taken this time.
    fn is_late(&self, time: Duration) -> bool {
        self.count > 0 && self.since.elapsed() >= time
    }
}

/// Removes a connection when it is closed, idle for too long, or does not answer.
async fn watch(all: Weak<SharedConnections>, connection: Weak<SharedConnection>, idle_timeout: Duration) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let (Some(all), Some(connection)) = (all.upgrade(), connection.upgrade()) else { return };
        let unanswered = connection.unanswered();
        let is_stalled = unanswered.is_late(STALL_TIME);
        if is_stalled {
            tracing::debug!("a shared connection to the database does not answer");
            connection.inner.abort();
        }
        let is_expired = unanswered.count == 0 && unanswered.since.elapsed() >= idle_timeout;
        if is_stalled || is_expired || connection.inner.is_closed() {
            all.remove(&connection);
            return;
        }
    }
}

impl SharedRead {
    async fn run(
        &self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> Result<Result<Vec<Row>, BudgetExceeded>, Error> {
        let prepared = self.prepare(sql).await?;
        self.connection.inner.collect_rows(prepared, sql, params, budget).await
    }

    /// Returns a prepared statement; `None` if it would not be kept.
    async fn prepare(&self, sql: &str) -> Result<Option<Statement>, Error> {
        if let Some(statement) = self.connection.inner.prepared(sql) {
            return Ok(Some(statement));
        }
        let (connection, sql) = (Arc::clone(&self.connection), Box::<str>::from(sql));
        // This is a separate task, because a statement whose preparation is dropped is never closed.
        let preparing = tokio::spawn(async move { connection.inner.prepare(&sql).await });
        preparing.await.unwrap_or(Ok(None))
    }

    /// Counts the answer.
    fn end(mut self) -> Arc<SharedConnection> {
        self.is_answered = true;
        self.connection.record_answer();
        Arc::clone(&self.connection)
    }
}

impl Drop for SharedRead {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let connection = Arc::clone(&self.connection);
        match Handle::try_current() {
            // The answer precedes the one of the empty statement.
            Ok(runtime) => drop(runtime.spawn(async move {
                let _ = connection.inner.execute("").await;
                connection.record_answer();
            })),
            Err(_) => connection.record_answer(),
        }
    }
}

/// Returns whether PostgreSQL has ended a statement because of the time limits of shared connections.
fn is_too_slow(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE))
}
