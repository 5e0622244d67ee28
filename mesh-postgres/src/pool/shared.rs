//! Connections that light reads share. A statement is sent without waiting for the rows of earlier ones, and PostgreSQL
//! answers all of them in order.
//!
//! A statement on such a connection is never cancelled, because the cancellation could hit the next one. Instead,
//! PostgreSQL ends a statement that runs for longer than [`STATEMENT_TIMEOUT`], and the read is repeated on a connection
//! that is not shared. The answer of a read that was dropped is received and discarded.

mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row, Statement};

use crate::pool::connect_url::ConnectUrl;
use crate::pool::error::is_stale;
use crate::pool::host_search;
use crate::pool::link::Link;
use crate::pool::row_budget::RowBudget;
use crate::settings::Settings;
use crate::sql::TextParam;

/// The time after which PostgreSQL ends a statement on a shared connection.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_millis(100);
/// The time after which PostgreSQL ends a statement that waits for a lock.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(10);
/// The time after which the run of a light statement is slow.
pub(crate) const SLOW_RUN_TIME: Duration = Duration::from_millis(50);
/// The maximum bytes of a light read's rows.
pub(super) const ROW_BYTES: usize = 256 << 10;
/// The wait for earlier reads, on each connection of a runtime, from which a second connection is opened. Two
/// connections keep a thread of the server busy with light reads.
const WAIT_FOR_SECOND: Duration = Duration::from_millis(2);
/// The wait from which further connections are opened, if answers are long. With fewer connections, each message
/// carries more answers, and fewer processes take turns.
const WAIT_FOR_MORE: Duration = Duration::from_millis(8);
/// The average time of a long answer.
const LONG_ANSWER: Duration = Duration::from_micros(150);
/// The number of reads on a connection from which another connection is opened in any case.
const DEPTH_TO_GROW: usize = 112;
/// The maximum number of reads on a connection.
const MAX_DEPTH: usize = 128;
/// The number of answers in the average. A message brings up to [`MAX_DEPTH`] answers, and the first of them seems to
/// have taken as long as all of them.
const AVERAGE_WINDOW: u64 = 256;
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
    /// The number of answers that have arrived.
    answered: AtomicU64,
    /// The time of the last answer, in nanoseconds after `opened`.
    last_answer: AtomicU64,
    /// The average time of an answer in nanoseconds.
    average: AtomicU64,
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
        self.links.read().iter().map(|link| link.answered.load(Ordering::Relaxed)).sum()
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
        if count < limit && (own == 0 || chosen.as_ref().is_some_and(|link| link.is_busy(own))) {
            self.open_another();
        }
        let link = chosen.filter(|link| link.depth() < MAX_DEPTH)?;
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
            answered: AtomicU64::new(0),
            last_answer: AtomicU64::new(0),
            average: AtomicU64::new(0),
            _slot: slot,
        });
        watch::start(Arc::downgrade(self), Arc::downgrade(&link), self.settings.idle_timeout);
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

    /// Returns whether a read would wait so long that another connection helps. `own` is the number of connections of
    /// the runtime.
    fn is_busy(&self, own: usize) -> bool {
        let depth = self.depth();
        let average = Duration::from_nanos(self.average.load(Ordering::Relaxed));
        let wait = average.saturating_mul(u32::try_from(depth).unwrap_or(u32::MAX));
        let is_long =
            if own < 2 { wait >= WAIT_FOR_SECOND } else { average >= LONG_ANSWER && wait >= WAIT_FOR_MORE };
        is_long || depth >= DEPTH_TO_GROW
    }

    /// Counts an answer. Returns the time since the statement was sent, or since the previous answer if that is later:
    /// PostgreSQL begins a statement when the previous one has ended.
    fn record_answer(&self, sent: Instant) -> Duration {
        self.depth.fetch_sub(1, Ordering::Relaxed);
        self.answered.fetch_add(1, Ordering::Relaxed);
        let now = self.opened.elapsed();
        let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let before = Duration::from_nanos(self.last_answer.swap(nanoseconds, Ordering::Relaxed));
        let took = now.saturating_sub(before.max(sent.saturating_duration_since(self.opened)));
        // One of several concurrent answers may not count.
        let (average, new) =
            (self.average.load(Ordering::Relaxed), u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.average.store(moving_average(average, new), Ordering::Relaxed);
        took
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
        let sent = Instant::now();
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
        let took = self.link.record_answer(sent);
        match rows {
            Err(error) if is_too_slow(&error) => SharedRead::Heavy,
            Err(error) if is_stale(&error) => {
                self.links.remove(&self.link);
                SharedRead::Lost(error)
            }
            rows => SharedRead::Ended(rows, took),
        }
    }
}

impl SharedLease {
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
        let (link, sent) = (Arc::clone(&self.link), Instant::now());
        match Handle::try_current() {
            // The read counts until its answer has arrived, which precedes the answer of the empty statement.
            Ok(runtime) => drop(runtime.spawn(async move {
                let _ = link.link.execute("").await;
                link.record_answer(sent);
            })),
            Err(_) => drop(link.record_answer(sent)),
        }
    }
}

/// Returns whether PostgreSQL has ended a statement because of the time limits of shared connections.
fn is_too_slow(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE))
}

/// Returns the moving average after a new value.
fn moving_average(average: u64, new: u64) -> u64 {
    average - average / AVERAGE_WINDOW + new / AVERAGE_WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;

    fn average_of(answers: impl Iterator<Item = Duration>) -> Vec<Duration> {
        let averages = answers.scan(0, |average, took| {
            *average = moving_average(*average, took.as_nanos() as u64);
            Some(Duration::from_nanos(*average))
        });
        averages.collect()
    }

    #[test]
    fn light_answers_that_arrive_together_are_not_long() {
        let message = |answer| Duration::from_micros(if answer % 100 == 0 { 8_000 } else { 5 });
        let averages = average_of((0..10_000).map(message));
        assert!(averages.iter().all(|average| *average < LONG_ANSWER), "{:?}", averages.iter().max());
    }

    #[test]
    fn long_answers_are_noticed_after_some_of_them() {
        let averages = average_of(std::iter::repeat_n(Duration::from_millis(1), 64));
        assert!(averages.last().is_some_and(|average| *average >= LONG_ANSWER), "{averages:?}");
    }
}
