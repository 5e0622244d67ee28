//! Replicas: reads go to a healthy one that has replayed every write the client may expect, else to the primary.
//!
//! Each server is asked a few times a second for its position in the write-ahead log. A replica that does not respond or
//! is too far behind is left out until it recovers. A read goes to a replica only if that has replayed everything that
//! this server has written or was notified of, so a client always sees its writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio_postgres::Client;

use crate::catalog::rows;
use crate::pool::{Link, Pool};

/// How often positions are looked at.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long a server may take to tell its position.
const PATIENCE: Duration = Duration::from_secs(1);
/// Positions of the primary that are kept to tell how old a replica's is.
const KEPT: usize = 600;

/// The replicas of one primary.
pub(super) struct Replicas {
    list: Vec<Replica>,
    /// How far behind in time a replica may be.
    lag: Duration,
    /// What reads have to see.
    needed: AtomicU64,
    next: AtomicUsize,
    /// Where the primary was, and when.
    history: Mutex<Vec<(Instant, u64)>>,
    /// Asks the primary.
    monitor: Monitor,
    /// Whether it did not answer.
    away: AtomicBool,
    watched: AtomicBool,
}

struct Replica {
    pool: Arc<Pool>,
    monitor: Monitor,
    /// How far it has replayed; 0 while it is left out.
    replayed: AtomicU64,
}

impl Replicas {
    pub(super) fn new(pools: Vec<Arc<Pool>>, lag: Duration) -> Self {
        let list = pools.into_iter().map(|pool| Replica {
            pool,
            monitor: Monitor::default(),
            replayed: AtomicU64::new(0),
        });
        Self {
            list: list.collect(),
            lag,
            needed: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            history: Mutex::default(),
            monitor: Monitor::default(),
            away: AtomicBool::new(false),
            watched: AtomicBool::new(false),
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// How many of them answer reads now.
    pub(super) fn healthy(&self) -> usize {
        self.list.iter().filter(|replica| replica.replayed.load(Ordering::Relaxed) > 0).count()
    }

    /// Begins to look after the replicas, once, in the runtime of the first read.
    pub(super) fn watch(self: &Arc<Self>, primary: &Arc<Pool>) {
        if self.list.is_empty() || self.watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let (replicas, primary) = (Arc::downgrade(self), Arc::clone(primary));
        tokio::spawn(async move {
            while let Some(replicas) = replicas.upgrade() {
                replicas.look(&primary).await;
                drop(replicas);
                tokio::time::sleep(INTERVAL).await;
            }
        });
    }

    /// The pool of a replica that may answer now; they take turns.
    pub(super) fn choose(&self) -> Option<&Arc<Pool>> {
        let needed = self.needed.load(Ordering::Acquire).max(1);
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.list.len();
        (0..count)
            .filter_map(|step| self.list.get((start.wrapping_add(step)) % count))
            .find(|replica| replica.replayed.load(Ordering::Acquire) >= needed)
            .map(|replica| &replica.pool)
    }

    /// Leaves a replica out until it has been seen again.
    pub(super) fn leave_out(&self, pool: &Arc<Pool>) {
        for replica in self.list.iter().filter(|replica| Arc::ptr_eq(&replica.pool, pool)) {
            replica.replayed.store(0, Ordering::Release);
        }
    }

    /// Reads after this see what has been committed on the connection. Where its position cannot be told, no
    /// replica is asked any more until it can.
    pub(super) async fn has_written(&self, client: &Client) {
        if self.list.is_empty() {
            return;
        }
        self.need(position(client, "pg_current_wal_lsn()").await.unwrap_or(u64::MAX));
    }

    /// Reads after this see that position. None is asked any more for the last one there is, until the primary has
    /// told its own again.
    pub(super) fn need(&self, position: u64) {
        self.needed.fetch_max(position, Ordering::AcqRel);
    }

    /// Whether the primary did not answer when it was asked last: then nobody can write, either.
    pub(super) fn primary_is_away(&self) -> bool {
        self.away.load(Ordering::Relaxed)
    }

    /// A position as a number: the database writes two halves in hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<u64> {
        let (high, low) = text.split_once('/')?;
        let half = |text: &str| u32::from_str_radix(text, 16).ok().map(u64::from);
        Some(half(high)? << 32 | half(low)?)
    }

    /// Asks everybody for their position, all at the same time.
    async fn look(&self, primary: &Pool) {
        let asked = Instant::now();
        let current = self.monitor.ask(primary, "pg_current_wal_lsn()");
        let replayed =
            self.list.iter().map(|replica| replica.monitor.ask(&replica.pool, "pg_last_wal_replay_lsn()"));
        let (current, replayed) =
            futures_util::future::join(current, futures_util::future::join_all(replayed)).await;
        self.away.store(current.is_none(), Ordering::Relaxed);
        let oldest = {
            let mut history = self.history.lock();
            if let Some(current) = current {
                // The position of a write could not be told; by now it is behind this one.
                let _ = self.needed.compare_exchange(u64::MAX, current, Ordering::AcqRel, Ordering::Relaxed);
                history.push((asked, current));
                let passed = history.len().saturating_sub(KEPT);
                history.drain(..passed);
            }
            // What a replica must have replayed. While the primary is away nobody writes, and nobody falls behind.
            let last = history.last().map(|(at, _)| *at);
            let bound = last.and_then(|last| last.checked_sub(self.lag));
            history.iter().rev().find(|(at, _)| bound.is_some_and(|bound| *at <= bound)).map(|(_, it)| *it)
        };
        for (replica, replayed) in self.list.iter().zip(replayed) {
            let replayed = replayed.filter(|replayed| oldest.is_none_or(|oldest| *replayed >= oldest));
            let before = replica.replayed.swap(replayed.unwrap_or(0), Ordering::AcqRel);
            match (before, replayed) {
                (0, Some(_)) => tracing::info!("reads go to the replica {}", replica.pool.name()),
                (1.., None) => tracing::warn!("no reads go to the replica {}", replica.pool.name()),
                _ => {}
            }
        }
    }
}

/// A connection of its own, so that a server is heard however busy it is.
#[derive(Default)]
struct Monitor {
    link: tokio::sync::Mutex<Option<Link>>,
}

impl Monitor {
    /// A server's position; `None` where it does not answer.
    async fn ask(&self, pool: &Pool, function: &str) -> Option<u64> {
        let mut link = self.link.lock().await;
        let kept = link.take().filter(|link| !link.client().is_closed());
        let asking = async {
            let open = match kept {
                Some(open) => open,
                None => pool.connect().await.ok()?,
            };
            let found = position(open.client(), function).await?;
            Some((open, found))
        };
        let (open, found) = tokio::time::timeout(PATIENCE, asking).await.ok().flatten()?;
        *link = Some(open);
        Some(found)
    }
}

/// The position that a function of the database tells.
async fn position(client: &Client, function: &str) -> Option<u64> {
    let rows = rows(client, &format!("SELECT {function}")).await.ok()?;
    Replicas::parse(rows.first()?.get(0)?)
}
