//! Connections that light reads share. A statement is sent without waiting for the rows of earlier ones, and PostgreSQL
//! answers all of them in order.
//!
//! A statement on such a connection is never cancelled, because the cancellation could hit the next one. Instead,
//! PostgreSQL ends a statement that runs for longer than [`STATEMENT_TIMEOUT`], and the read is repeated on a connection
//! that is not shared. The answer of a read that was dropped is received and discarded.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mesh_backend::pool::RowBudget;
use parking_lot::RwLock;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row, Statement};

use crate::pool::connect_url::ConnectUrl;
use crate::pool::error::is_stale;
use crate::pool::host_search;
use crate::pool::link::Link;
use crate::settings::Settings;
use crate::sql::TextParam;

/// The time after which PostgreSQL ends a statement on a shared connection.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_millis(100);
/// The time after which PostgreSQL ends a statement that waits for a lock.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(10);
/// The maximum bytes of a light read's rows.
pub(super) const ROW_BYTES: usize = 256 << 10;
/// The number of reads on each connection of a runtime from which another connection is opened. With few connections,
/// each message carries many answers.
const DEPTH_TO_GROW: usize = 16;
/// The maximum number of reads on a connection.
const MAX_DEPTH: usize = 128;
/// The time without an answer after which a connection is given up. PostgreSQL ends each statement much earlier.
const STALL_TIME: Duration = Duration::from_secs(1);
/// The interval at which connections are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The delay after a connection could not be opened.
const REOPEN_DELAY: Duration = Duration::from_secs(1);

/// The shared connections to one server.
pub(super) struct SharedLinks {
    target: ConnectUrl,
    settings: Settings,
    /// The maximum number of shared connections.
    max_links: usize,
    /// Slots reserved for shared connections, so that light reads do not wait for other work; then the slots of the
    /// pool.
    slots: [Arc<Semaphore>; 2],
    links: RwLock<Vec<Arc<SharedLink>>>,
    /// Whether a connection is being opened.
    opening: AtomicBool,
}

/// A shared connection.
pub(super) struct SharedLink {
    link: Link,
    opened: Instant,
    /// The number of reads whose answers have not arrived.
    depth: AtomicUsize,
    /// The time at which PostgreSQL began the statement that runs, or ended the last one, in nanoseconds after `opened`.
    since: AtomicU64,
    #[cfg(test)]
    answers: AtomicU64,
    _slot: OwnedSemaphorePermit,
}

/// The result of a read on a shared connection.
pub(super) enum SharedRead {
    /// The statement has ended, after this time.
    Ended(Result<Vec<Row>, Error>, Duration),
    /// The statement takes too long or returns too many rows for a shared connection.
    Heavy,
    /// The connection was lost, or the prepared statement is out of date.
    Lost(Error),
    /// The statement cannot be prepared within the bound on the memory of the database.
    Unprepared,
}

/// The right to send a statement on a shared connection.
pub(super) struct SharedLease {
    link: Arc<SharedLink>,
    links: Arc<SharedLinks>,
    is_answered: bool,
}

impl SharedLinks {
    /// Creates an empty list of at most `max_links` connections. Slots are taken from the first semaphore that has one.
    pub(super) fn new(
        target: ConnectUrl,
        settings: &Settings,
        max_links: usize,
        slots: [Arc<Semaphore>; 2],
    ) -> Arc<Self> {
        let (settings, links) = (settings.clone(), RwLock::default());
        Arc::new(Self { target, settings, max_links, slots, links, opening: AtomicBool::new(false) })
    }

    /// Returns whether there may be shared connections.
    pub(super) fn is_used(&self) -> bool {
        self.max_links > 0
    }

    /// Returns the number of connections and the number of connections in use.
    pub(super) fn counts(&self) -> (usize, usize) {
        let links = self.links.read();
        let in_use = links.iter().filter(|link| link.depth.load(Ordering::Relaxed) > 0).count();
        (links.len(), in_use)
    }

    /// Returns the number of answers on the open connections.
    #[cfg(test)]
    pub(super) fn answers(&self) -> u64 {
        self.links.read().iter().map(|link| link.answers.load(Ordering::Relaxed)).sum()
    }

    /// Chooses the connection with the fewest reads, preferably one of the current runtime: messages of a connection of
    /// another runtime wake two threads. Opens another connection in the background if there are too few. `None` if there
    /// is no connection, or all have too many reads.
    pub(super) fn choose(self: &Arc<Self>) -> Option<SharedLease> {
        if self.max_links == 0 {
            return None;
        }
        let runtime = Handle::current().id();
        let (chosen, count, own, has_closed) = {
            let links = self.links.read();
            let key = |link: &&Arc<SharedLink>| (link.link.runtime != runtime, link.depth());
            let is_closed = |link: &Arc<SharedLink>| link.link.is_closed();
            let open = links.iter().filter(|link| !is_closed(link));
            let own = open.clone().filter(|link| link.link.runtime == runtime).count();
            (open.min_by_key(key).map(Arc::clone), links.len(), own, links.iter().any(is_closed))
        };
        if has_closed {
            // The task that watches a connection ends with its runtime.
            self.links.write().retain(|link| !link.link.is_closed());
        }
        // Each runtime gets one connection, if possible, before other runtimes get more.
        let limit = if own == 0 { self.max_links } else { (self.max_links / 2).max(1) };
        if count < limit && (own == 0 || chosen.as_ref().is_some_and(|link| link.depth() >= DEPTH_TO_GROW)) {
            self.open_another();
        }
        let link = chosen.filter(|link| link.depth() < MAX_DEPTH)?;
        if link.depth() == 0 {
            link.since.store(link.now(), Ordering::Relaxed);
        }
        link.depth.fetch_add(1, Ordering::Relaxed);
        Some(SharedLease { link, links: Arc::clone(self), is_answered: false })
    }

    /// Opens a connection in the background, unless one is being opened or there is no free slot.
    fn open_another(self: &Arc<Self>) {
        if self.opening.swap(true, Ordering::Relaxed) {
            return;
        }
        let opening = Opening(Arc::clone(self));
        let Some(slot) = self.slots.iter().find_map(|slots| Arc::clone(slots).try_acquire_owned().ok())
        else {
            return;
        };
        tokio::spawn(async move {
            // No transaction is begun on a shared connection.
            let (links, begin) = (&opening.0, Arc::from(""));
            match host_search::open(&links.target, &links.settings, &begin).await {
                Ok((link, _)) => links.add(link, slot),
                Err(error) => {
                    tracing::debug!("no shared connection was opened: {error}");
                    drop(slot);
                    tokio::time::sleep(REOPEN_DELAY).await;
                }
            }
        });
    }

    fn add(self: &Arc<Self>, link: Link, slot: OwnedSemaphorePermit) {
        let link = Arc::new(SharedLink {
            link,
            opened: Instant::now(),
            depth: AtomicUsize::new(0),
            since: AtomicU64::new(0),
            #[cfg(test)]
            answers: AtomicU64::new(0),
            _slot: slot,
        });
        tokio::spawn(watch(Arc::downgrade(self), Arc::downgrade(&link), self.settings.idle_timeout));
        self.links.write().push(link);
    }

    /// Removes a connection, which is closed when the reads on it have ended.
    fn remove(&self, link: &Arc<SharedLink>) {
        self.links.write().retain(|it| !Arc::ptr_eq(it, link));
    }
}

/// A guard that marks a connection as being opened until it is dropped, for example when the runtime of its task ends.
struct Opening(Arc<SharedLinks>);

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.opening.store(false, Ordering::Relaxed);
    }
}

impl SharedLink {
    fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    /// Returns the nanoseconds since the connection was opened.
    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the time since the last answer, or since an idle connection was used again.
    fn quiet_time(&self) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(self.since.load(Ordering::Relaxed)))
    }

    /// Counts an answer, and returns the time that its statement took: PostgreSQL begins a statement when the previous one
    /// has ended.
    fn record_answer(&self) -> Duration {
        #[cfg(test)]
        self.answers.fetch_add(1, Ordering::Relaxed);
        let now = self.now();
        let began = self.since.swap(now, Ordering::Relaxed);
        self.depth.fetch_sub(1, Ordering::Relaxed);
        Duration::from_nanos(now.saturating_sub(began))
    }
}

/// Removes a connection when it is closed, idle for too long, or does not answer.
async fn watch(links: Weak<SharedLinks>, link: Weak<SharedLink>, idle_timeout: Duration) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let (Some(links), Some(link)) = (links.upgrade(), link.upgrade()) else { return };
        let (is_idle, quiet_time) = (link.depth() == 0, link.quiet_time());
        if !is_idle && quiet_time >= STALL_TIME {
            tracing::debug!("a shared connection to the database does not answer");
            link.link.abort();
        }
        if quiet_time >= if is_idle { idle_timeout } else { STALL_TIME } || link.link.is_closed() {
            links.remove(&link);
            return;
        }
    }
}

impl SharedLease {
    /// Runs a statement, and collects its rows.
    pub(super) async fn query(
        mut self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> SharedRead {
        let rows = async {
            let Some(statement) = self.prepare(sql).await? else { return Ok(None) };
            self.link.link.query_prepared(&statement, params, budget).await.map(Some)
        };
        let rows = match rows.await {
            Ok(Some(Ok(rows))) => Ok(rows),
            // The rest of the rows has not arrived.
            Ok(Some(Err(_))) => return SharedRead::Heavy,
            Ok(None) => {
                self.is_answered = true;
                self.link.depth.fetch_sub(1, Ordering::Relaxed);
                return SharedRead::Unprepared;
            }
            Err(error) => Err(error),
        };
        self.is_answered = true;
        let took = self.link.record_answer();
        match rows {
            Err(error) if is_too_slow(&error) => SharedRead::Heavy,
            Err(error) if is_stale(&error) => {
                self.links.remove(&self.link);
                SharedRead::Lost(error)
            }
            rows => SharedRead::Ended(rows, took),
        }
    }

    /// Returns a prepared statement; `None` if it would not be kept.
    async fn prepare(&self, sql: &str) -> Result<Option<Statement>, Error> {
        if let Some(statement) = self.link.link.prepared(sql) {
            return Ok(Some(statement));
        }
        let (link, sql) = (Arc::clone(&self.link), Box::<str>::from(sql));
        // This is a separate task, because a statement whose preparation is dropped is never closed.
        let preparing = tokio::spawn(async move { link.link.prepare(&sql).await });
        preparing.await.unwrap_or(Ok(None))
    }
}

impl Drop for SharedLease {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let link = Arc::clone(&self.link);
        match Handle::try_current() {
            // The read counts until its answer has arrived, which precedes the answer of the empty statement.
            Ok(runtime) => drop(runtime.spawn(async move {
                let _ = link.link.execute("").await;
                link.record_answer();
            })),
            Err(_) => drop(link.record_answer()),
        }
    }
}

/// Returns whether PostgreSQL has ended a statement because of the time limits of shared connections.
fn is_too_slow(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE))
}
