//! The store of used nonces. `SPEC §7.9`

pub(crate) mod budget;

use std::collections::HashMap;
use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use futures_util::future::Either;

use crate::{MaybeReady, SessionId, StoreError};

/// Records the nonces of bound signatures. All servers of a deployment should share one store. A
/// [`Gate`](crate::Gate) bounds how many it asks a store to keep.
pub trait NonceStore: Send + Sync + 'static {
    /// Records a nonce of a session and returns whether it is new. `until` is the time of its expiry; times are
    /// milliseconds since the Unix epoch. At most one of several concurrent calls with the same nonce returns `true`.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn remember<'a>(
        &'a self,
        session: SessionId,
        nonce: &'a str,
        until: u64,
        now: u64,
    ) -> MaybeReady<'a, Result<bool, StoreError>>;
}

/// A store of nonces in the memory of one process.
#[derive(Debug, Default)]
pub struct MemoryNonces {
    sessions: DashMap<SessionId, SessionNonces>,
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
    /// The interval between removals of the expired nonces of all sessions, in milliseconds.
    const SWEEP_INTERVAL: u64 = 60_000;

    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn insert(&self, session: SessionId, nonce: &str, until: u64, now: u64) -> bool {
        let due = self.next_sweep.load(Ordering::Relaxed);
        // The clock may have been set back.
        if now >= due || due - now > Self::SWEEP_INTERVAL {
            self.next_sweep.store(now.saturating_add(Self::SWEEP_INTERVAL), Ordering::Relaxed);
            self.sessions.retain(|_, nonces| {
                nonces.sweep(now);
                !nonces.expiries.is_empty()
            });
        }
        let mut nonces = self.sessions.entry(session).or_default();
        if nonces.expiries.len() >= nonces.sweep_at {
            nonces.sweep(now);
        }
        if nonces.expiries.get(nonce).is_some_and(|until| *until > now) {
            return false;
        }
        nonces.expiries.insert(nonce.into(), until);
        true
    }
}

impl SessionNonces {
    /// Removes expired nonces.
    fn sweep(&mut self, now: u64) {
        self.expiries.retain(|_, until| *until > now);
        self.sweep_at = (2 * self.expiries.len()).max(64);
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
        Either::Left(ready(Ok(self.insert(session, nonce, until, now))))
    }
}

#[cfg(test)]
mod tests;
