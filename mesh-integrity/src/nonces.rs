//! The store of used nonces. `SPEC §7.9`

use std::collections::HashMap;
use std::future::ready;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::DashMap;
use futures_util::future::Either;

use crate::{MaybeReady, SessionId, StoreError};

/// Records the nonces of bound signatures. All servers of a deployment should share one store.
pub trait NonceStore: Send + Sync + 'static {
    /// Records a nonce of a session and returns whether it is new. `until` is the time of its expiry; times are
    /// milliseconds since the Unix epoch. At most one of several concurrent calls with the same nonce returns `true`.
    ///
    /// # Errors
    /// [`StoreError`] if the store is full or fails.
    fn remember<'a>(
        &'a self,
        session: SessionId,
        nonce: &'a str,
        until: u64,
        now: u64,
    ) -> MaybeReady<'a, Result<bool, StoreError>>;
}

/// A store of nonces in the memory of one process.
#[derive(Debug)]
pub struct MemoryNonces {
    sessions: DashMap<SessionId, SessionNonces>,
    /// The number of nonces of all sessions. To count them in the map would lock all of it.
    count: AtomicUsize,
    capacity: usize,
    next_sweep: AtomicU64,
}

#[derive(Debug, Default)]
struct SessionNonces {
    /// The expiry of each nonce.
    expiries: HashMap<Box<str>, u64>,
    /// The number of nonces at which expired ones are removed: twice those that had not expired the last time.
    sweep_at: usize,
}

impl MemoryNonces {
    /// The default capacity. A nonce takes about 100 bytes.
    pub const CAPACITY: usize = 1_000_000;
    /// One session may use this fraction (1/16) of the capacity, so that it cannot exhaust the store for others.
    const SESSION_SHARE: usize = 16;
    /// The interval between removals of the expired nonces of all sessions, in milliseconds.
    const SWEEP_INTERVAL: u64 = 60_000;

    /// Creates a store for `capacity` nonces. A full store refuses new nonces rather than evict valid ones.
    pub fn new(capacity: usize) -> Self {
        Self { sessions: DashMap::new(), count: AtomicUsize::new(0), capacity, next_sweep: AtomicU64::new(0) }
    }

    fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn insert(&self, session: SessionId, nonce: &str, until: u64, now: u64) -> Result<bool, StoreError> {
        // A full store is swept regardless of the time, because the clock may have been set back.
        if now >= self.next_sweep.load(Ordering::Relaxed) || self.len() >= self.capacity {
            self.next_sweep.store(now.saturating_add(Self::SWEEP_INTERVAL), Ordering::Relaxed);
            self.sessions.retain(|_, nonces| {
                self.sweep(nonces, now);
                !nonces.expiries.is_empty()
            });
        }
        let share = self.capacity.div_ceil(Self::SESSION_SHARE);
        let mut nonces = self.sessions.entry(session).or_default();
        if nonces.expiries.len() >= nonces.sweep_at.min(share) {
            self.sweep(&mut nonces, now);
        }
        if nonces.expiries.get(nonce).is_some_and(|until| *until > now) {
            return Ok(false);
        }
        if nonces.expiries.len() >= share || self.len() >= self.capacity {
            return Err(StoreError::Full);
        }
        if nonces.expiries.insert(nonce.into(), until).is_none() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// Removes the expired nonces of a session.
    fn sweep(&self, nonces: &mut SessionNonces, now: u64) {
        let before = nonces.expiries.len();
        nonces.expiries.retain(|_, until| *until > now);
        self.count.fetch_sub(before - nonces.expiries.len(), Ordering::Relaxed);
        nonces.sweep_at = (2 * nonces.expiries.len()).max(64);
    }
}

impl Default for MemoryNonces {
    fn default() -> Self {
        Self::new(Self::CAPACITY)
    }
}

impl NonceStore for MemoryNonces {
    fn remember<'a>(
        &'a self,
        session: SessionId,
        nonce: &'a str,
        until: u64,
        now: u64,
    ) -> MaybeReady<'a, Result<bool, StoreError>> {
        Either::Left(ready(self.insert(session, nonce, until, now)))
    }
}

#[cfg(test)]
mod tests;
