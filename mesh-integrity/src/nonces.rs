//! The store of used nonces. `SPEC §7.9`

use std::collections::HashMap;
use std::future::ready;
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::DashMap;
use futures_util::future::Either;

use crate::{MaybeReady, SessionId, StoreError};

/// Remembers the nonces of bound signatures. All servers of a deployment should share one.
pub trait NonceStore: Send + Sync + 'static {
    /// Remembers a nonce of a session until a time in milliseconds since the Unix epoch, and says whether
    /// it is new. Of two calls with the same nonce at most one may be told so.
    fn remember<'a>(
        &'a self,
        session: SessionId,
        nonce: &'a str,
        until: u64,
        now: u64,
    ) -> MaybeReady<'a, Result<bool, StoreError>>;
}

/// Nonces in the memory of one server, gone when it stops.
#[derive(Debug)]
pub struct MemoryNonces {
    sessions: DashMap<SessionId, Seen>,
    /// Nonces of all sessions; counted here, since to count them in the map would lock all of it.
    count: AtomicUsize,
    capacity: usize,
    next_sweep: AtomicU64,
}

/// The nonces of one session in two parts. New ones go into the younger. Once nothing in the older is
/// needed any more it goes as a whole, and the younger takes its place; so no part is looked through.
#[derive(Debug, Default)]
struct Seen {
    younger: Part,
    older: Part,
}

#[derive(Debug, Default)]
struct Part {
    /// When each nonce may be used again.
    nonces: HashMap<Box<str>, u64>,
    /// When the last of them may.
    until: u64,
}

impl MemoryNonces {
    /// How many nonces it remembers unless told otherwise, some 100 bytes each.
    pub const CAPACITY: usize = 1_000_000;
    /// The share of the capacity that one session may take, so that none can crowd out the others.
    const SESSION_SHARE: usize = 16;
    /// How long sessions may stay of which no nonce is needed, in milliseconds.
    const SWEEP_EVERY: u64 = 60_000;

    /// A store for that many nonces. It never forgets one that is still needed; when full it refuses.
    pub fn new(capacity: usize) -> Self {
        Self { sessions: DashMap::new(), count: AtomicUsize::new(0), capacity, next_sweep: AtomicU64::new(0) }
    }

    /// How many nonces it remembers.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether it remembers none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn insert(&self, session: SessionId, nonce: &str, until: u64, now: u64) -> Result<bool, StoreError> {
        // Swept when the time has come, and when there is no room, whatever the clock did in between.
        if now >= self.next_sweep.load(Ordering::Relaxed) || self.len() >= self.capacity {
            self.next_sweep.store(now.saturating_add(Self::SWEEP_EVERY), Ordering::Relaxed);
            self.sweep(now);
        }
        let mut seen = self.sessions.entry(session).or_default();
        self.count.fetch_sub(seen.forget(now), Ordering::Relaxed);
        if seen.has(nonce, now) {
            return Ok(false);
        }
        if seen.len() >= self.capacity.div_ceil(Self::SESSION_SHARE) || self.len() >= self.capacity {
            return Err(StoreError::Full);
        }
        seen.younger.until = seen.younger.until.max(until);
        if seen.younger.nonces.insert(nonce.into(), until).is_none() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(true)
    }

    fn sweep(&self, now: u64) {
        self.sessions.retain(|_, seen| {
            let needed = seen.younger.until > now || seen.older.until > now;
            if !needed {
                self.count.fetch_sub(seen.len(), Ordering::Relaxed);
            }
            needed
        });
    }
}

impl Seen {
    fn len(&self) -> usize {
        self.younger.nonces.len() + self.older.nonces.len()
    }

    fn has(&self, nonce: &str, now: u64) -> bool {
        [&self.younger, &self.older].iter().any(|part| part.nonces.get(nonce).is_some_and(|it| *it > now))
    }

    /// Drops the older part if its time is over, and says how many nonces that were.
    fn forget(&mut self, now: u64) -> usize {
        if self.older.until > now {
            return 0;
        }
        mem::replace(&mut self.older, mem::take(&mut self.younger)).nonces.len()
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
