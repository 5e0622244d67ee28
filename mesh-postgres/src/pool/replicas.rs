//! Replicas: reads go to a healthy one that has replayed every write the client may expect, else to the primary.
//!
//! The position of each server in the write-ahead log is polled a few times a second. A replica that does not respond
//! or is too far behind is left out until it recovers. A read goes to a replica only if the replica has replayed
//! everything that this server has written or was notified of, so a client always sees its writes.
//!
//! If the URL of the database has several hosts, its standbys are spare replicas, which answer while there is no
//! primary. The poll also finds a standby that is promoted. Positions of different timelines cannot be compared, so
//! positions required before a promotion do not count after it: writes that the new primary does not have are lost.

mod primary_poll;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use parking_lot::Mutex;
use tokio_postgres::Error;
use tokio_postgres::types::PgLsn;

use self::primary_poll::PrimaryStatus;
use crate::pool::Pool;
use crate::pool::hosts::Role;
use crate::pool::link::Link;

/// The interval at which positions are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time limit for the response of a server.
const POLL_TIMEOUT: Duration = Duration::from_secs(1);
/// The time after the start of a poll without a response of the primary during which this server assumes that there is
/// no primary. It is longer than the time until the end of the next poll.
pub(crate) const PRIMARY_DOWN_TIME: Duration = Duration::from_millis(2_500);
/// The number of positions of the primary that are kept, from which the lag of a replica is computed.
const HISTORY: usize = 600;

/// The query of the position up to which the primary has written.
pub(crate) const WRITE_POSITION: &str = "SELECT pg_current_wal_lsn()";

/// The replicas of one primary.
pub(crate) struct Replicas {
    list: Vec<Replica>,
    /// The maximum lag of a replica.
    lag: Duration,
    /// The position that reads must see. [`u64::MAX`] if the position of a write is unknown: then no replica is used.
    required: AtomicU64,
    /// The timeline of that position. Locked while the position is changed.
    timeline: Mutex<u32>,
    next: AtomicUsize,
    created: Instant,
    /// The start of the last poll if the primary did not respond to it, in milliseconds after `created`; else 0.
    down_at: AtomicU64,
    watched: AtomicBool,
}

pub(crate) struct Replica {
    pub(crate) pool: Arc<Pool>,
    /// The index of the host in the URL of the primary, for a spare replica, which is used only while there is no
    /// primary.
    spare: Option<usize>,
    /// The position up to which the replica has replayed; 0 while it is left out.
    replayed: AtomicU64,
    /// Whether the replica has all writes that were acknowledged before the primary failed.
    is_complete: AtomicBool,
}

/// The state of the primary, as a read sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Primary {
    /// The primary responds.
    Up,
    /// The primary has failed a read. There may be a primary that other servers write to.
    Lost,
    /// There is no primary.
    Down,
}

impl Replica {
    /// Excludes the replica from reads until it responds to the next poll.
    pub(crate) fn exclude(&self) {
        self.replayed.store(0, Ordering::Release);
    }
}

impl Replicas {
    /// Creates a list of replicas. `spares` are the hosts of the URL of the primary.
    pub(crate) fn new(pools: Vec<Arc<Pool>>, spares: Vec<Arc<Pool>>, lag: Duration) -> Self {
        let spares = spares.into_iter().enumerate().map(|(host, pool)| (pool, Some(host)));
        let all = pools.into_iter().map(|pool| (pool, None)).chain(spares);
        let list = all.map(|(pool, spare)| Replica {
            pool,
            spare,
            replayed: AtomicU64::new(0),
            is_complete: AtomicBool::new(false),
        });
        Self {
            list: list.collect(),
            lag,
            required: AtomicU64::new(0),
            timeline: Mutex::new(0),
            next: AtomicUsize::new(0),
            created: Instant::now(),
            down_at: AtomicU64::new(0),
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

    /// Starts polling positions in the current runtime, unless it was started before.
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
    pub(crate) fn choose(&self, primary: Primary) -> Option<&Replica> {
        let required = self.required.load(Ordering::Acquire).max(1);
        let start = self.next.fetch_add(1, Ordering::Relaxed) % self.list.len().max(1);
        let mut rotation = self.list.iter().skip(start).chain(self.list.iter().take(start));
        rotation.find(|replica| {
            let replayed = replica.replayed.load(Ordering::Acquire);
            let is_complete = primary == Primary::Down && replica.is_complete.load(Ordering::Acquire);
            (replica.spare.is_none() || primary != Primary::Up)
                && (replayed >= required || is_complete && replayed > 0)
        })
    }

    /// Returns whether a replica responds, although it may lack writes that reads must see.
    pub(crate) fn any_responds(&self) -> bool {
        self.list.iter().any(|replica| replica.replayed.load(Ordering::Relaxed) > 0)
    }

    /// Requires later reads to see the writes that the connection has committed. If their position is unavailable,
    /// reads go to the primary until its next poll.
    pub(crate) async fn require_writes_of(&self, link: &Link) {
        if self.require_current(link).await.is_err() {
            self.require(link, u64::MAX);
        }
    }

    /// Requires later reads to see all writes up to now.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn require_current(&self, link: &Link) -> Result<(), Error> {
        if !self.list.is_empty() {
            self.require(link, query_position(link, WRITE_POSITION).await?.unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Requires later reads to see the writes up to a position of the primary that `link` is connected to.
    pub(crate) fn require(&self, link: &Link, position: u64) {
        let mut timeline = self.timeline.lock();
        if [0, *timeline].contains(&link.timeline) {
            self.required.fetch_max(position, Ordering::AcqRel);
        } else if link.timeline > *timeline {
            *timeline = link.timeline;
            self.required.store(position, Ordering::Release);
        }
    }

    /// Returns whether the primary did not respond to the last poll. If so, there are no writes either.
    pub(crate) fn primary_is_down(&self) -> bool {
        let down_at = self.down_at.load(Ordering::Acquire);
        down_at > 0 && self.created.elapsed() < Duration::from_millis(down_at) + PRIMARY_DOWN_TIME
    }

    /// Queries the positions of all servers concurrently.
    async fn poll(&self, primary: &Pool, polls: &mut Polls) {
        polls.replicas.resize_with(self.list.len(), || None);
        let now = Instant::now();
        let status = poll(&mut polls.primary, primary, PrimaryStatus::read);
        let replicas = self.list.iter().zip(&mut polls.replicas);
        let roles = replicas.map(|(replica, link)| poll(link, &replica.pool, Role::read));
        let (status, roles) = join(status, join_all(roles)).await;
        let roles: Vec<Option<Role>> = roles.into_iter().map(Result::ok).collect();
        for (replica, role) in self.list.iter().zip(&roles) {
            if let (Some(host), Some(role)) = (replica.spare, role)
                && role.timeline > primary.hosts().timeline()
            {
                primary.hosts().adopt(host, role);
            }
        }
        let is_down = matches!(status, Err(Silence::Down));
        if let Ok(status) = status {
            polls.is_synchronous = status.is_synchronous;
            self.add_position(polls, now, status, &roles);
        }
        let minimum = polls.minimum(self.lag);
        let complete = is_down.then(|| self.complete_position(polls.is_synchronous, &roles)).flatten();
        for (replica, role) in self.list.iter().zip(roles) {
            let fits = |role: &Role| {
                let is_replaced = !role.is_standby && role.timeline < primary.hosts().timeline();
                let is_behind = minimum.is_some_and(|minimum| role.position < minimum);
                !is_replaced && !is_behind && replica.pool.hosts().fits(role)
            };
            let role = role.filter(fits);
            let is_complete =
                role.is_some_and(|role| complete.is_some_and(|complete| role.position >= complete));
            replica.is_complete.store(is_complete, Ordering::Release);
            let replayed = role.map_or(0, |role| role.position);
            let before = replica.replayed.swap(replayed, Ordering::AcqRel);
            let name = replica.pool.name();
            match (before, replayed) {
                _ if replica.spare.is_some() => {}
                (0, 1..) => tracing::info!("the replica {name} serves reads"),
                (1.., 0) => tracing::warn!("the replica {name} is left out of reads"),
                _ => {}
            }
        }
        let elapsed = u64::try_from((now - self.created).as_millis()).unwrap_or(u64::MAX);
        self.down_at.store(if is_down { elapsed.max(1) } else { 0 }, Ordering::Release);
    }

    /// Adds a position of the primary to the history.
    fn add_position(&self, polls: &mut Polls, time: Instant, status: PrimaryStatus, roles: &[Option<Role>]) {
        let PrimaryStatus { position, timeline, .. } = status;
        let mut required_timeline = self.timeline.lock();
        if timeline < polls.timeline || (1..*required_timeline).contains(&timeline) {
            // Another server was promoted in the meantime.
            return;
        }
        if timeline > polls.timeline {
            polls.timeline = timeline;
            polls.history.clear();
            // A standby that does not follow the new primary stays at its position. It must not be used, even if it has
            // replayed more of the previous timeline.
            let standbys = roles.iter().flatten().filter(|role| role.is_standby);
            let minimum = standbys.map(|role| role.position + 1).max().unwrap_or(0).max(position);
            if timeline > *required_timeline {
                *required_timeline = timeline;
                self.required.store(minimum, Ordering::Release);
            } else {
                self.required.fetch_max(minimum, Ordering::AcqRel);
            }
        }
        // Writes whose position is unknown precede this position.
        let _ = self.required.compare_exchange(u64::MAX, position, Ordering::AcqRel, Ordering::Relaxed);
        polls.history.truncate(HISTORY - 1);
        polls.history.push_front((time, position));
    }

    /// Returns the position from which a standby has all writes that were acknowledged before the primary failed: the
    /// highest position that a standby has received, if the primary waits for standbys. Returns `None` if a standby
    /// does not respond, because it may have received more.
    fn complete_position(&self, is_synchronous: bool, roles: &[Option<Role>]) -> Option<u64> {
        let has_spares = self.list.iter().any(|replica| replica.spare.is_some());
        let hosts = self.list.iter().zip(roles).filter(|(replica, _)| replica.spare.is_some() == has_spares);
        let silent = hosts.filter(|(_, role)| role.is_none()).count();
        // One of the spares is the primary itself.
        let max_silent = usize::from(has_spares);
        let standbys = roles.iter().flatten().filter(|role| role.is_standby);
        let received = standbys.map(|role| role.position.max(role.received)).max();
        received.filter(|_| is_synchronous && silent <= max_silent)
    }
}

/// The state that polls keep for later polls. Each server has a dedicated connection, so that its position can be read
/// while all connections of the pool are in use.
#[derive(Default)]
struct Polls {
    primary: Option<Link>,
    replicas: Vec<Option<Link>>,
    /// Positions of the primary with their times, the newest first.
    history: VecDeque<(Instant, u64)>,
    /// The timeline of these positions.
    timeline: u32,
    /// Whether commits wait for standbys.
    is_synchronous: bool,
}

impl Polls {
    /// Returns the minimum position of a replica: the position that the primary had `lag` before its last response.
    /// While the primary is down, replicas do not fall behind.
    fn minimum(&self, lag: Duration) -> Option<u64> {
        let bound = self.history.front()?.0.checked_sub(lag)?;
        self.history.iter().find(|(time, _)| *time <= bound).map(|(_, position)| *position)
    }
}

/// The reason why a server did not respond.
enum Silence {
    /// The server accepts no more connections.
    Full,
    Down,
}

/// Queries a server.
async fn poll<T>(
    link: &mut Option<Link>,
    pool: &Pool,
    query: impl AsyncFn(&Link) -> Result<T, Error>,
) -> Result<T, Silence> {
    let open = link.take().filter(|link| !link.is_closed());
    let polling = async {
        let open = match open {
            Some(open) => open,
            None => {
                let opened = pool.connect().await;
                opened.map_err(|error| if error.is_full() { Silence::Full } else { Silence::Down })?
            }
        };
        let result = query(&open).await.map_err(|_| Silence::Down)?;
        Ok((open, result))
    };
    let polled = tokio::time::timeout(POLL_TIMEOUT, polling).await;
    let (open, result) = polled.unwrap_or(Err(Silence::Down))?;
    *link = Some(open);
    Ok(result)
}

/// Returns the position that a statement selects; `None` for NULL.
pub(crate) async fn query_position(link: &Link, sql: &str) -> Result<Option<u64>, Error> {
    let rows = link.query_once(sql, &[]).await?;
    Ok(rows.first().and_then(|row| row.get::<_, Option<PgLsn>>(0)).map(u64::from))
}
