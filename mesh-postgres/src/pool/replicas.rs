//! Replicas: reads go to a healthy one that has replayed every write the client may expect, else to the primary.
//!
//! The position of each server in the write-ahead log is polled a few times a second. A replica that does not respond or
//! is too far behind is left out until it recovers. A read goes to a replica only if that has replayed everything that
//! this server has written or was notified of, so a client always sees its writes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use tokio_postgres::Error;
use tokio_postgres::types::PgLsn;

use crate::pool::Pool;
use crate::pool::link::Link;

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
    /// Whether the primary did not respond to the last poll.
    primary_is_down: AtomicBool,
    watched: AtomicBool,
}

pub(crate) struct Replica {
    pub(crate) pool: Arc<Pool>,
    /// The position up to which the replica has replayed; 0 while it is left out.
    replayed: AtomicU64,
}

impl Replica {
    /// Leaves the replica out until it responds to the next poll.
    pub(crate) fn leave_out(&self) {
        self.replayed.store(0, Ordering::Release);
    }
}

impl Replicas {
    pub(crate) fn new(pools: Vec<Arc<Pool>>, lag: Duration) -> Self {
        let list = pools.into_iter().map(|pool| Replica { pool, replayed: AtomicU64::new(0) });
        Self {
            list: list.collect(),
            lag,
            required: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            primary_is_down: AtomicBool::new(false),
            watched: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of replicas that are not left out.
    #[cfg(test)]
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
            let mut polls = Polls::default();
            while let Some(replicas) = replicas.upgrade() {
                replicas.poll(&primary, &mut polls).await;
                drop(replicas);
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        });
    }

    /// Returns a replica that has replayed all required writes, in rotation.
    pub(crate) fn choose(&self) -> Option<&Replica> {
        let required = self.required.load(Ordering::Acquire).max(1);
        let start = self.next.fetch_add(1, Ordering::Relaxed) % self.list.len().max(1);
        let mut rotation = self.list.iter().skip(start).chain(self.list.iter().take(start));
        rotation.find(|replica| replica.replayed.load(Ordering::Acquire) >= required)
    }

    /// Requires later reads to see the writes that the connection has committed. If their position is unavailable, reads
    /// go to the primary until the next poll of it.
    pub(crate) async fn require_writes_of(&self, link: &Link) {
        if !self.list.is_empty() {
            self.require(position(link, WRITTEN).await.ok().flatten().unwrap_or(u64::MAX));
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

    /// Queries the positions of all servers concurrently.
    async fn poll(&self, primary: &Pool, polls: &mut Polls) {
        polls.replicas.resize_with(self.list.len(), || None);
        let now = Instant::now();
        let written = poll(&mut polls.primary, primary, WRITTEN);
        let replicas = self.list.iter().zip(&mut polls.replicas);
        let replayed = replicas.map(|(replica, link)| poll(link, &replica.pool, REPLAYED));
        let (written, replayed) = join(written, join_all(replayed)).await;
        self.primary_is_down.store(written.is_none(), Ordering::Relaxed);
        let history = &mut polls.history;
        if let Some(written) = written {
            // Writes of unknown position precede this one.
            let _ = self.required.compare_exchange(u64::MAX, written, Ordering::AcqRel, Ordering::Relaxed);
            history.truncate(HISTORY - 1);
            history.push_front((now, written));
        }
        // The lag counts from the last response of the primary: while that is down, replicas do not fall behind.
        let bound = history.front().and_then(|(last, _)| last.checked_sub(self.lag));
        let is_before = |(time, _): &&(Instant, u64)| bound.is_some_and(|bound| *time <= bound);
        let minimum = history.iter().find(is_before).map(|(_, position)| *position);
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

/// What a poll uses of those before it. Each server has a dedicated connection, so that its position can be read while all
/// connections of the pool are in use.
#[derive(Default)]
struct Polls {
    primary: Option<Link>,
    replicas: Vec<Option<Link>>,
    /// Positions of the primary with their times, the newest first.
    history: VecDeque<(Instant, u64)>,
}

/// Returns a position of a server; `None` if it does not respond.
async fn poll(link: &mut Option<Link>, pool: &Pool, sql: &str) -> Option<u64> {
    let open = link.take().filter(|link| !link.is_closed());
    let polling = async {
        let open = match open {
            Some(open) => open,
            None => pool.connect().await.ok()?,
        };
        let position = position(&open, sql).await.ok()??;
        Some((open, position))
    };
    let (open, position) = tokio::time::timeout(POLL_TIMEOUT, polling).await.ok().flatten()?;
    *link = Some(open);
    Some(position)
}

/// Returns the position that a statement selects; `None` for NULL.
pub(crate) async fn position(link: &Link, sql: &str) -> Result<Option<u64>, Error> {
    let rows = link.query_once(sql, &[]).await?;
    Ok(rows.first().and_then(|row| row.get::<_, Option<PgLsn>>(0)).map(u64::from))
}
