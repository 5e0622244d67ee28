//! Replicas: a read that follows a write sees it, also if a replica answers the read.
//!
//! A read goes to a replica only if the replica has replayed everything that servers have written
//! ([`Replicas::require`]), else to the primary. The position of each server in the write-ahead log is polled a few times a
//! second. A replica that does not respond or is too far behind is left out until it recovers.
//!
//! If the URL of the database has several hosts, its standbys are spare replicas, which answer while there is no
//! primary. The poll also finds a standby that is promoted. Positions of different timelines cannot be compared, so
//! positions required before a promotion do not count after it: writes that the new primary does not have are lost.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use parking_lot::Mutex;
use tokio_postgres::Error;
use tokio_postgres::types::PgLsn;

use crate::pool::connection::Connection;
use crate::pool::hosts::PRIMARY_DOWN_TIME;
use crate::pool::role::Role;
use crate::pool::{Pool, PoolError};

/// The interval at which positions are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time limit for the response of a server.
const POLL_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of positions of the primary that are kept, from which the lag of a replica is computed.
const HISTORY: usize = 600;
/// The position of a write whose position could not be queried. No replica has replayed it, unless it is complete.
const UNKNOWN: u64 = u64::MAX;
const COMPLETE: u64 = u64::MAX;

/// The replicas of one primary.
pub(crate) struct Replicas {
    list: Vec<Replica>,
    /// The maximum lag of a replica.
    lag: Duration,
    required: Mutex<Required>,
    next: AtomicUsize,
    /// The time until which this server assumes that there is no primary.
    down_until: Mutex<Option<Instant>>,
    watched: AtomicBool,
}

/// The position that reads must see, on its timeline.
#[derive(Default)]
struct Required {
    timeline: u32,
    position: u64,
}

pub(crate) struct Replica {
    pub(crate) pool: Arc<Pool>,
    /// The index of the host in the URL of the primary, for a spare replica, which is used only while there is no
    /// primary.
    spare: Option<usize>,
    /// The position up to which the replica has replayed; 0 while it is left out, and [`COMPLETE`] while it has all writes that
    /// were acknowledged before the primary failed.
    replayed: AtomicU64,
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
        let list = all.map(|(pool, spare)| Replica { pool, spare, replayed: AtomicU64::new(0) });
        let (required, next, down_until, watched) = Default::default();
        Self { list: list.collect(), lag, required, next, down_until, watched }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of replicas that are not left out.
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
    pub(crate) fn choose(&self, primary_is_down: bool) -> Option<&Replica> {
        let required = self.required.lock().position.max(1);
        let start = self.next.fetch_add(1, Ordering::Relaxed) % self.list.len().max(1);
        let mut rotation = self.list.iter().skip(start).chain(self.list.iter().take(start));
        rotation.find(|replica| {
            let replayed = replica.replayed.load(Ordering::Acquire);
            replayed >= required && (primary_is_down || replica.spare.is_none() && replayed != COMPLETE)
        })
    }

    /// Returns whether a replica may answer reads while there is a primary.
    pub(crate) fn can_answer(&self) -> bool {
        let is_used =
            |replica: &Replica| replica.spare.is_none() && replica.replayed.load(Ordering::Relaxed) > 0;
        self.list.iter().any(is_used)
    }

    /// Requires later reads to see all writes up to now.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn require_current(&self, connection: &Connection) -> Result<(), Error> {
        if !self.list.is_empty() {
            let rows = connection.query_once("SELECT pg_current_wal_lsn()", &[]).await?;
            self.require(connection, rows.first().map(|row| row.get::<_, PgLsn>(0).into()));
        }
        Ok(())
    }

    /// Requires later reads to see the writes up to a position of the primary that `connection` is connected to; all writes up
    /// to the next poll if the position is unknown.
    pub(crate) fn require(&self, connection: &Connection, position: Option<u64>) {
        let position = position.unwrap_or(UNKNOWN);
        let mut required = self.required.lock();
        if [0, required.timeline].contains(&connection.timeline) {
            required.position = required.position.max(position);
        } else if connection.timeline > required.timeline {
            *required = Required { timeline: connection.timeline, position };
        }
    }

    /// Returns whether the primary did not respond to the last poll. If so, there are no writes either.
    pub(crate) fn primary_is_down(&self) -> bool {
        self.down_until.lock().is_some_and(|until| Instant::now() < until)
    }

    /// Queries the positions of all servers concurrently.
    async fn poll(&self, primary: &Pool, polls: &mut Polls) {
        polls.replicas.resize_with(self.list.len(), || None);
        let now = Instant::now();
        let replicas = self.list.iter().zip(&mut polls.replicas);
        let replicas = join_all(replicas.map(|(replica, connection)| poll(connection, &replica.pool)));
        let (status, roles) = join(poll(&mut polls.primary, primary), replicas).await;
        let roles: Vec<Option<Role>> = roles.into_iter().map(Result::ok).collect();
        for (replica, role) in self.list.iter().zip(&roles) {
            if let (Some(host), Some(role)) = (replica.spare, role)
                && role.timeline > primary.hosts().timeline()
            {
                primary.hosts().adopt(host, role);
            }
        }
        let is_down = match &status {
            Ok(role) => role.is_standby,
            Err(error) => !error.is_full(),
        };
        if is_down {
            polls.primary = None;
        } else if let Ok(role) = status {
            polls.is_synchronous = role.is_synchronous;
            let timeline = if primary.hosts().attrs.is_primary() { role.timeline } else { 0 };
            self.add_position(polls, now, Required { timeline, position: role.position }, &roles);
        }
        let minimum = polls.minimum(self.lag);
        let complete = (is_down && polls.is_synchronous).then(|| self.complete_position(&roles));
        for (replica, role) in self.list.iter().zip(roles) {
            let fits = |role: &Role| {
                let is_replaced = !role.is_standby && role.timeline < primary.hosts().timeline();
                let is_behind = minimum.is_some_and(|minimum| role.position < minimum);
                !is_replaced && !is_behind && replica.pool.hosts().attrs.mismatch(role).is_none()
            };
            let replayed = match (role.filter(fits), complete) {
                (None, _) => 0,
                (Some(role), None) => role.position,
                (Some(role), Some(Some(complete))) if role.position >= complete => COMPLETE,
                // Another standby has a write that this one lacks.
                (Some(_), Some(_)) => 0,
            };
            let before = replica.replayed.swap(replayed, Ordering::AcqRel);
            let name = replica.pool.name();
            match (before, replayed) {
                _ if replica.spare.is_some() => {}
                (0, 1..) => tracing::info!("the replica {name} serves reads"),
                (1.., 0) => tracing::warn!("the replica {name} is left out of reads"),
                _ => {}
            }
        }
        *self.down_until.lock() = is_down.then_some(now + PRIMARY_DOWN_TIME);
    }

    /// Adds a position of the primary to the history.
    fn add_position(&self, polls: &mut Polls, time: Instant, primary: Required, roles: &[Option<Role>]) {
        let Required { timeline, position } = primary;
        let mut required = self.required.lock();
        if timeline < polls.timeline || (1..required.timeline).contains(&timeline) {
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
            if timeline > required.timeline {
                *required = Required { timeline, position: minimum };
            } else {
                required.position = required.position.max(minimum);
            }
        }
        if required.position == UNKNOWN {
            // Writes whose position is unknown precede this position.
            required.position = position;
        }
        polls.history.truncate(HISTORY - 1);
        polls.history.push_front((time, position));
    }

    /// Returns the position from which a standby has all writes that were acknowledged before the primary failed, if commits
    /// wait for standbys: the highest position that a standby has received. Returns `None` if a standby
    /// does not respond, because it may have received more.
    fn complete_position(&self, roles: &[Option<Role>]) -> Option<u64> {
        let has_spares = self.list.iter().any(|replica| replica.spare.is_some());
        let hosts = self.list.iter().zip(roles).filter(|(replica, _)| replica.spare.is_some() == has_spares);
        let silent = hosts.filter(|(_, role)| role.is_none()).count();
        // One of the spares is the primary itself.
        let max_silent = usize::from(has_spares);
        let standbys = roles.iter().flatten().filter(|role| role.is_standby);
        let received = standbys.map(|role| role.position.max(role.received)).max();
        received.filter(|_| silent <= max_silent)
    }
}

/// The state that polls keep for later polls. Each server has a dedicated connection, so that its position can be read
/// while all connections of the pool are in use.
#[derive(Default)]
struct Polls {
    primary: Option<Connection>,
    replicas: Vec<Option<Connection>>,
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

/// Queries the state of a server.
async fn poll(connection: &mut Option<Connection>, pool: &Pool) -> Result<Role, PoolError> {
    let open = connection.take().filter(|connection| !connection.is_closed());
    let polling = async {
        let open = match open {
            Some(open) => open,
            None => pool.connect_listener().await?.0,
        };
        let role = open.role("").await.map_err(PoolError::Failed)?;
        Ok((open, role))
    };
    let polled = tokio::time::timeout(POLL_TIMEOUT, polling).await;
    let (open, role) = polled.map_err(|_| PoolError::TimedOut)??;
    *connection = Some(open);
    Ok(role)
}
