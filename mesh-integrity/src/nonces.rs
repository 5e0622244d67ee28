//! The store of used nonces. `SPEC §7.9`

pub(crate) mod budget;
pub(crate) mod shared;

use std::collections::HashMap;
use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use futures_util::future::Either;

use crate::{MaybeReady, SessionId, StoreError};

/// The nonce of a bound signature. Times are milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce<'a> {
    /// The session that signed the request.
    pub session: SessionId,
    /// `X-Mesh-Nonce`.
    pub text: &'a str,
    /// The timestamp of the signature.
    pub time: u64,
    /// The time at which the signature expires and the nonce can be removed.
    pub until: u64,
}

/// Whether a bound signature may be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceUse {
    /// The nonce is new, and recorded.
    New,
    /// The nonce was used before.
    Used,
    /// It is unknown whether the nonce was used, because another process may have accepted it.
    Unknown,
}

/// Records the nonces of bound signatures. All servers of a deployment should share one store. A
/// [`Gate`](crate::Gate) bounds how many it asks a store to keep.
pub trait NonceStore: Send + Sync + 'static {
    /// Records a nonce and returns whether it is new. `now` is in milliseconds since the Unix epoch. At most one of several
    /// concurrent calls with the same nonce returns [`NonceUse::New`].
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn remember<'a>(&'a self, nonce: Nonce<'a>, now: u64) -> MaybeReady<'a, Result<NonceUse, StoreError>>;
}

/// A store of nonces in the memory of one process.
#[derive(Debug, Default)]
pub struct MemoryNonces {
    sessions: DashMap<SessionId, SessionNonces>,
    next_sweep: AtomicU64,
    /// The last timestamp that an earlier process may have accepted.
    unknown: u64,
}

#[derive(Debug, Default)]
struct SessionNonces {
    /// The expiry of each nonce.
    expiries: HashMap<Box<str>, u64>,
    /// The number of nonces at which expired ones are removed: twice the number that remained after the last removal.
    sweep_at: usize,
}

impl MemoryNonces {
    /// The interval between removals of the expired nonces of all sessions, in milliseconds.
    const SWEEP_INTERVAL: u64 = 60_000;

    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty store that refuses timestamps up to `time`, in milliseconds since the Unix epoch. If `time` is
    /// the start of the server, requests that an earlier process accepted cannot be replayed, unless the clock of their
    /// sender is ahead.
    pub fn after(time: u64) -> Self {
        Self { unknown: time, ..Self::default() }
    }

    /// Records a nonce and returns whether it is new.
    pub(crate) fn insert(&self, session: SessionId, nonce: &str, until: u64, now: u64) -> bool {
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
    fn remember<'a>(&'a self, nonce: Nonce<'a>, now: u64) -> MaybeReady<'a, Result<NonceUse, StoreError>> {
        let Nonce { session, text, time, until } = nonce;
        let outcome = match time > self.unknown {
            false => NonceUse::Unknown,
            true => NonceUse::from_is_new(self.insert(session, text, until, now)),
        };
        Either::Left(ready(Ok(outcome)))
    }
}

impl NonceUse {
    pub(crate) fn from_is_new(is_new: bool) -> Self {
        if is_new { Self::New } else { Self::Used }
    }
}

#[cfg(test)]
mod tests;
