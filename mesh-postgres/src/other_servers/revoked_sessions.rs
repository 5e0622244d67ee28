//! A cache of the sessions that were ended on any server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dashmap::DashMap;
use mesh_integrity::SessionId;
use tokio_postgres::Client;

use crate::catalog::rows;
use crate::clock::now_millis;
use crate::error::with_causes;

/// Sessions that are kept at a time, some 50 bytes each. Where there are more the database is asked.
const CAPACITY: usize = 1_000_000;

/// How often those are dropped whose time is over, in milliseconds.
const SWEEP_EVERY: u64 = 60_000;

/// Ended sessions, in memory.
#[derive(Default)]
pub(crate) struct RevokedSessions {
    /// Until when each has to be known.
    sessions: DashMap<SessionId, u64>,
    /// Whether the sessions of this database are anybody's concern.
    wanted: AtomicBool,
    /// Whether all are here that were ended before.
    loaded: AtomicBool,
    next_sweep: AtomicU64,
}

impl RevokedSessions {
    /// Has sessions loaded with the next look.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Whether a session has ended; `None` where that is not known.
    pub(crate) fn has(&self, session: SessionId) -> Option<bool> {
        self.loaded.load(Ordering::Acquire).then(|| self.sessions.contains_key(&session))
    }

    pub(crate) fn insert(&self, session: SessionId, until: u64) {
        if !self.wanted.load(Ordering::Relaxed) {
            return;
        }
        if self.sessions.len() >= CAPACITY {
            self.sweep();
        }
        if self.sessions.len() >= CAPACITY {
            self.forget();
            return;
        }
        self.sessions.insert(session, until);
    }

    /// Some may have been missed.
    pub(crate) fn forget(&self) {
        self.loaded.store(false, Ordering::Release);
    }

    fn sweep(&self) {
        let now = now_millis();
        self.sessions.retain(|_, until| *until > now);
    }

    /// Reads all that are still of use, where that has not been done, and drops what is not.
    pub(crate) async fn load(&self, client: &Client) -> Result<(), String> {
        let now = now_millis();
        if now >= self.next_sweep.load(Ordering::Relaxed) {
            self.next_sweep.store(now + SWEEP_EVERY, Ordering::Relaxed);
            self.sweep();
        }
        if !self.wanted.load(Ordering::Relaxed) || self.loaded.load(Ordering::Relaxed) {
            return Ok(());
        }
        let sql = format!(
            "SELECT encode(session, 'hex'), until FROM mesh.revocation WHERE until > {now} LIMIT {CAPACITY}"
        );
        let found = rows(client, &sql).await.map_err(|error| with_causes(&error))?;
        if found.len() >= CAPACITY {
            return Ok(());
        }
        for row in &found {
            if let (Some(id), Some(until)) = (row.get(0).and_then(SessionId::parse), row.get(1)) {
                self.sessions.insert(id, until.parse().unwrap_or(u64::MAX));
            }
        }
        self.loaded.store(true, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_not_known() {
        let ended = RevokedSessions::default();
        assert_eq!(ended.has(SessionId([1; 16])), None);
        ended.want();
        ended.insert(SessionId([1; 16]), u64::MAX);
        ended.loaded.store(true, Ordering::Release);
        assert_eq!(ended.has(SessionId([1; 16])), Some(true));
        assert_eq!(ended.has(SessionId([2; 16])), Some(false));
        ended.forget();
        assert_eq!(ended.has(SessionId([2; 16])), None);
    }
}
