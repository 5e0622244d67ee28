//! A cache of the sessions that were revoked on any server: a server refuses them without a query for each request.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use dashmap::DashMap;
use mesh_integrity::{SessionId, unix_millis};
use tokio_postgres::Error;

use crate::pool::link::Link;
use crate::sql::TextParam;

/// The maximum number of sessions in memory, of about 50 bytes each. If there are more, the database is queried.
const CAPACITY: usize = 1_000_000;

/// The interval at which expired entries are removed, in milliseconds.
const SWEEP_INTERVAL: u64 = 60_000;

const LOAD: &str = "SELECT session, until FROM mesh.revocation WHERE until > $1::bigint LIMIT $2::bigint";

/// Revoked sessions in memory.
#[derive(Default)]
pub(crate) struct RevokedSessions {
    /// The expiry of each session, in milliseconds since the Unix epoch.
    sessions: DashMap<SessionId, u64>,
    /// Whether the table exists and sessions are checked.
    enabled: AtomicBool,
    /// Whether all revoked sessions are in memory.
    complete: AtomicBool,
    next_sweep: AtomicU64,
}

impl RevokedSessions {
    /// Makes the next call of [`Self::load`] read the table, which must exist.
    pub(crate) fn enable(&self) {
        self.enabled.store(true, Ordering::Relaxed);
    }

    /// Returns whether a session was revoked; `None` if memory is incomplete.
    pub(crate) fn contains(&self, session: SessionId) -> Option<bool> {
        self.complete.load(Ordering::Acquire).then(|| self.sessions.contains_key(&session))
    }

    /// Adds a session, which expires at `until`.
    pub(crate) fn insert(&self, session: SessionId, until: u64) {
        if !self.enabled.load(Ordering::Relaxed) {
            return;
        }
        if self.sessions.len() < CAPACITY {
            self.sessions.insert(session, until);
        } else {
            self.invalidate();
        }
    }

    /// Marks memory as incomplete, because messages may have been missed.
    pub(crate) fn invalidate(&self) {
        self.complete.store(false, Ordering::Release);
    }

    /// Reads the sessions of the table if memory is incomplete, and removes those that have expired.
    pub(crate) async fn load(&self, link: &Link) -> Result<(), Error> {
        let now = unix_millis(SystemTime::now());
        if now >= self.next_sweep.load(Ordering::Relaxed) {
            self.next_sweep.store(now + SWEEP_INTERVAL, Ordering::Relaxed);
            self.sessions.retain(|_, until| *until > now);
        }
        if !self.enabled.load(Ordering::Relaxed) || self.complete.load(Ordering::Relaxed) {
            return Ok(());
        }
        let params = [TextParam::number(now), TextParam::number(CAPACITY as u64)];
        let rows = link.query_once(LOAD, &params).await?;
        if rows.len() >= CAPACITY {
            return Ok(());
        }
        for row in &rows {
            if let Ok(session) = row.get::<_, &[u8]>(0).try_into() {
                let until = u64::try_from(row.get::<_, i64>(1)).unwrap_or(0);
                self.sessions.insert(SessionId(session), until);
            }
        }
        self.complete.store(true, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_memory_gives_no_answer() {
        let revoked = RevokedSessions::default();
        assert_eq!(revoked.contains(SessionId([1; 16])), None);
        revoked.enable();
        revoked.insert(SessionId([1; 16]), u64::MAX);
        revoked.complete.store(true, Ordering::Release);
        assert_eq!(revoked.contains(SessionId([1; 16])), Some(true));
        assert_eq!(revoked.contains(SessionId([2; 16])), Some(false));
        revoked.invalidate();
        assert_eq!(revoked.contains(SessionId([2; 16])), None);
    }
}
