//! The store of revoked sessions. `SPEC §7.5`

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use futures_util::future::Either;

use crate::{MaybeReady, SessionId, StoreError};

/// Records revoked sessions. All servers of a deployment should share one store. Times are milliseconds since the Unix
/// epoch.
pub trait RevocationStore: Send + Sync + 'static {
    /// Returns whether the session has been revoked. Called for every request, so it should be cheap.
    fn is_revoked(&self, session: SessionId, now: u64) -> MaybeReady<'_, Result<bool, StoreError>>;

    /// Revokes a session until `expires_at`. After this has completed, every server that shares the store must see the
    /// revocation, also after a restart if the store is persistent.
    fn revoke(&self, session: SessionId, expires_at: u64, now: u64)
    -> MaybeReady<'_, Result<(), StoreError>>;
}

/// A store of revocations in the memory of one process.
#[derive(Debug)]
pub struct MemoryRevocations {
    /// Expiry by session.
    revoked: DashMap<SessionId, u64>,
    capacity: usize,
    /// The time of the next removal of expired entries.
    next_sweep: AtomicU64,
}

impl MemoryRevocations {
    /// The default capacity. A session takes about 50 bytes.
    pub const CAPACITY: usize = 1_000_000;
    /// The interval between removals of expired entries, in milliseconds.
    const SWEEP_INTERVAL: u64 = 60_000;

    /// Creates a store for `capacity` sessions. A full store refuses new entries rather than evict valid ones.
    pub fn new(capacity: usize) -> Self {
        Self { revoked: DashMap::new(), capacity, next_sweep: AtomicU64::new(0) }
    }

    fn insert(&self, session: SessionId, expires_at: u64, now: u64) -> Result<(), StoreError> {
        // A full store is swept regardless of the time, because the clock may have been set back.
        if now >= self.next_sweep.load(Ordering::Relaxed) || self.revoked.len() >= self.capacity {
            self.next_sweep.store(now.saturating_add(Self::SWEEP_INTERVAL), Ordering::Relaxed);
            self.revoked.retain(|_, expiry| *expiry > now);
        }
        if self.revoked.len() >= self.capacity && !self.revoked.contains_key(&session) {
            return Err(StoreError::Full);
        }
        self.revoked.insert(session, expires_at);
        Ok(())
    }
}

impl Default for MemoryRevocations {
    fn default() -> Self {
        Self::new(Self::CAPACITY)
    }
}

impl RevocationStore for MemoryRevocations {
    fn is_revoked(&self, session: SessionId, _: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        Either::Left(ready(Ok(self.revoked.contains_key(&session))))
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        Either::Left(ready(self.insert(session, expires_at, now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> SessionId {
        SessionId([number; 16])
    }

    #[test]
    fn expired_entries_are_removed() {
        let store = MemoryRevocations::new(100);
        store.insert(id(1), 1_000, 0).unwrap();
        store.insert(id(2), 200_000, 0).unwrap();
        assert_eq!(store.revoked.len(), 2);
        store.insert(id(3), 300_000, 100_000).unwrap();
        assert!(store.revoked.contains_key(&id(2)) && store.revoked.contains_key(&id(3)));
        assert_eq!(store.revoked.len(), 2, "the first has expired");
        store.insert(id(4), 400_000, 200_000).unwrap();
        assert!(!store.revoked.contains_key(&id(2)), "it expires at this time");
    }

    #[test]
    fn a_full_store_refuses_new_sessions() {
        let store = MemoryRevocations::new(2);
        store.insert(id(1), 1_000, 0).unwrap();
        store.insert(id(2), 2_000, 0).unwrap();
        assert!(matches!(store.insert(id(3), 3_000, 0), Err(StoreError::Full)));
        store.insert(id(2), 2_000, 0).unwrap();
        assert!(store.revoked.contains_key(&id(1)) && store.revoked.contains_key(&id(2)));
        store.insert(id(3), 3_000, 1_500).unwrap();
        assert!(!store.revoked.contains_key(&id(1)));
    }
}
