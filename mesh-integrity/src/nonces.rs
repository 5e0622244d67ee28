//! The store of used nonces. `SPEC §7.9`

use std::collections::HashMap;
use std::future::ready;
use std::mem;
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

/// The nonces of one session in two generations. New nonces are added to the newer one. When all nonces of the older one
/// have expired, it is dropped as a whole and the newer one replaces it, so that no generation is searched for expired
/// nonces.
#[derive(Debug, Default)]
struct SessionNonces {
    newer: Generation,
    older: Generation,
}

#[derive(Debug, Default)]
struct Generation {
    /// The expiry of each nonce.
    nonces: HashMap<Box<str>, u64>,
    /// The latest expiry.
    until: u64,
}

impl MemoryNonces {
    /// The default capacity. A nonce takes about 100 bytes.
    pub const CAPACITY: usize = 1_000_000;
    /// One session may use this fraction (1/16) of the capacity, so that it cannot exhaust the store for others.
    const SESSION_SHARE: usize = 16;
    /// The interval between removals of sessions whose nonces have expired, in milliseconds.
    const SWEEP_EVERY: u64 = 60_000;

    /// Creates a store for `capacity` nonces. A full store refuses new nonces rather than evict valid ones.
    pub fn new(capacity: usize) -> Self {
        Self { sessions: DashMap::new(), count: AtomicUsize::new(0), capacity, next_sweep: AtomicU64::new(0) }
    }

    /// Returns the number of recorded nonces.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn insert(&self, session: SessionId, nonce: &str, until: u64, now: u64) -> Result<bool, StoreError> {
        // A full store is swept regardless of the time, because the clock may have been set back.
        if now >= self.next_sweep.load(Ordering::Relaxed) || self.len() >= self.capacity {
            self.next_sweep.store(now.saturating_add(Self::SWEEP_EVERY), Ordering::Relaxed);
            self.sweep(now);
        }
        let mut nonces = self.sessions.entry(session).or_default();
        self.count.fetch_sub(nonces.rotate(now), Ordering::Relaxed);
        if nonces.contains(nonce, now) {
            return Ok(false);
        }
        if nonces.len() >= self.capacity.div_ceil(Self::SESSION_SHARE) || self.len() >= self.capacity {
            return Err(StoreError::Full);
        }
        nonces.newer.until = nonces.newer.until.max(until);
        if nonces.newer.nonces.insert(nonce.into(), until).is_none() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(true)
    }

    fn sweep(&self, now: u64) {
        self.sessions.retain(|_, nonces| {
            let needed = nonces.newer.until > now || nonces.older.until > now;
            if !needed {
                self.count.fetch_sub(nonces.len(), Ordering::Relaxed);
            }
            needed
        });
    }
}

impl SessionNonces {
    fn len(&self) -> usize {
        self.newer.nonces.len() + self.older.nonces.len()
    }

    fn contains(&self, nonce: &str, now: u64) -> bool {
        [&self.newer, &self.older]
            .iter()
            .any(|generation| generation.nonces.get(nonce).is_some_and(|until| *until > now))
    }

    /// Drops the older generation if it has expired. Returns the number of dropped nonces.
    fn rotate(&mut self, now: u64) -> usize {
        if self.older.until > now {
            return 0;
        }
        mem::replace(&mut self.older, mem::take(&mut self.newer)).nonces.len()
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
