//! Replicas: reads go to a healthy one that has replayed every write the client may expect, else to the primary.
//!
//! Each server is asked a few times a second for its position in the write-ahead log. A replica that does not respond or
//! is too far behind is left out until it recovers. A read goes to a replica only if that has replayed everything that
//! this server has written or was notified of, so a client always sees its writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use parking_lot::Mutex;
use tokio_postgres::types::PgLsn;
use tokio_postgres::{Client, Error};

use crate::pool::{Link, Pool};
use crate::sql;

/// The interval at which positions are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time limit for the response of a server.
const POLL_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of positions of the primary that are kept, from which the lag of a replica is computed.
const HISTORY: usize = 600;

/// The position up to which the primary has written.
pub(crate) const WRITTEN: &str = "SELECT pg_current_wal_lsn()";
/// The position up to which a replica has replayed.
const REPLAYED: &str = "SELECT pg_last_wal_replay_lsn()";

/// The replicas of one primary.
pub(crate) struct Replicas {
    list: Vec<Replica>,
    /// The maximum lag of a replica.
    lag: Duration,
    /// The position that reads must see. [`u64::MAX`] if the position of a write is unknown: then no replica is used.
    required: AtomicU64,
    next: AtomicUsize,
    /// Positions of the primary with their times.
    history: Mutex<Vec<(Instant, u64)>>,
    primary: Monitor,
    /// Whether the primary did not respond last time.
    primary_is_down: AtomicBool,
    watched: AtomicBool,
}

struct Replica {
    pool: Arc<Pool>,
    monitor: Monitor,
    /// The position up to which the replica has replayed; 0 while it is left out.
    replayed: AtomicU64,
}

impl Replicas {
    pub(crate) fn new(pools: Vec<Arc<Pool>>, lag: Duration) -> Self {
        let list = pools.into_iter().map(|pool| Replica {
            pool,
            monitor: Monitor::default(),
            replayed: AtomicU64::new(0),
        });
        Self {
            list: list.collect(),
            lag,
            required: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            history: Mutex::default(),
            primary: Monitor::default(),
            primary_is_down: AtomicBool::new(false),
            watched: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the number of replicas that are not left out.
    pub(crate) fn healthy(&self) -> usize {
        self.list.iter().filter(|replica| replica.replayed.load(Ordering::Relaxed) > 0).count()
    }

    /// Starts to poll positions in the current runtime, unless it was started before.
    pub(crate) fn watch(self: &Arc<Self>, primary: &Arc<Pool>) {
        if self.list.is_empty() || self.watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let (replicas, primary) = (Arc::downgrade(self), Arc::clone(primary));
        tokio::spawn(async move {
            while let Some(replicas) = replicas.upgrade() {
                replicas.poll(&primary).await;
                drop(replicas);
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        });
    }

    /// Returns a replica that has replayed all required writes, in rotation.
    pub(crate) fn choose(&self) -> Option<&Arc<Pool>> {
        let required = self.required.load(Ordering::Acquire).max(1);
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.list.len();
        (0..count)
            .filter_map(|step| self.list.get((start.wrapping_add(step)) % count))
            .find(|replica| replica.replayed.load(Ordering::Acquire) >= required)
            .map(|replica| &replica.pool)
    }

    /// Leaves a replica out until it responds to the next poll.
    pub(crate) fn leave_out(&self, pool: &Arc<Pool>) {
        for replica in self.list.iter().filter(|replica| Arc::ptr_eq(&replica.pool, pool)) {
            replica.replayed.store(0, Ordering::Release);
        }
    }

    /// Requires later reads to see the writes that the connection has committed. If their position is unavailable, reads
    /// go to the primary until the next poll of it.
    pub(crate) async fn require_writes_of(&self, client: &Client) {
        if !self.list.is_empty() {
            self.require(position(client, WRITTEN).await.ok().flatten().unwrap_or(u64::MAX));
        }
    }

    /// Requires later reads to see the writes up to a position.
    pub(crate) fn require(&self, position: u64) {
        self.required.fetch_max(position, Ordering::AcqRel);
    }

    /// Whether the primary did not respond to the last poll. Then there are no writes either.
    pub(crate) fn primary_is_down(&self) -> bool {
        self.primary_is_down.load(Ordering::Relaxed)
    }

    /// Asks all servers for their positions concurrently.
    async fn poll(&self, primary: &Pool) {
        let now = Instant::now();
        let written = self.primary.poll(primary, WRITTEN);
        let replayed = self.list.iter().map(|replica| replica.monitor.poll(&replica.pool, REPLAYED));
        let (written, replayed) = join(written, join_all(replayed)).await;
        self.primary_is_down.store(written.is_none(), Ordering::Relaxed);
        let minimum = {
            let mut history = self.history.lock();
            if let Some(written) = written {
                // Writes of unknown position precede this one.
                let _ =
                    self.required.compare_exchange(u64::MAX, written, Ordering::AcqRel, Ordering::Relaxed);
                history.push((now, written));
                let excess = history.len().saturating_sub(HISTORY);
                history.drain(..excess);
            }
            // The lag counts from the last response of the primary: while that is down, replicas do not fall behind.
            let last = history.last().map(|(time, _)| *time);
            let bound = last.and_then(|last| last.checked_sub(self.lag));
            history
                .iter()
                .rev()
                .find(|(time, _)| bound.is_some_and(|bound| *time <= bound))
                .map(|(_, it)| *it)
        };
        for (replica, replayed) in self.list.iter().zip(replayed) {
            let replayed = replayed.filter(|replayed| minimum.is_none_or(|minimum| *replayed >= minimum));
            let before = replica.replayed.swap(replayed.unwrap_or(0), Ordering::AcqRel);
            match (before, replayed) {
                (0, Some(_)) => tracing::info!("the replica {} serves reads", replica.pool.name()),
                (1.., None) => tracing::warn!("the replica {} is left out of reads", replica.pool.name()),
                _ => {}
            }
        }
    }
}

/// A dedicated connection, so that a position can be read while all connections of the pool are in use.
#[derive(Default)]
struct Monitor {
    link: tokio::sync::Mutex<Option<Link>>,
}

impl Monitor {
    /// Returns a position of a server; `None` if it does not respond.
    async fn poll(&self, pool: &Pool, sql: &str) -> Option<u64> {
        let mut link = self.link.lock().await;
        let open = link.take().filter(|link| !link.client().is_closed());
        let polling = async {
            let open = match open {
                Some(open) => open,
                None => pool.connect().await.ok()?,
            };
            let position = position(open.client(), sql).await.ok()??;
            Some((open, position))
        };
        let (open, position) = tokio::time::timeout(POLL_TIMEOUT, polling).await.ok().flatten()?;
        *link = Some(open);
        Some(position)
    }
}

/// Returns the position that a statement selects; `None` for NULL.
pub(crate) async fn position(client: &Client, sql: &str) -> Result<Option<u64>, Error> {
    let rows = sql::query(client, sql, &[]).await?;
    Ok(rows.first().and_then(|row| row.get::<_, Option<PgLsn>>(0)).map(u64::from))
}
