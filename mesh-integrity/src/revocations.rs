//! The store of revoked sessions. `SPEC §7.5`

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use futures_util::future::Either;

use crate::{MaybeReady, SessionId, StoreError};

/// Remembers sessions that were logged out. All servers of a deployment should share one.
pub trait RevocationStore: Send + Sync + 'static {
    /// Returns whether the session has been revoked. Called for every request, so it should be cheap.
    fn is_revoked(&self, session: SessionId, now: u64) -> MaybeReady<'_, Result<bool, StoreError>>;

    /// Revokes a session until `expires_at`. After this has completed, every server that shares the store must see the
    /// revocation, also after a restart if the store is persistent.
    fn revoke(&self, session: SessionId, expires_at: u64, now: u64)
    -> MaybeReady<'_, Result<(), StoreError>>;
}

/// Revocations in the memory of one server, gone when it stops.
#[derive(Debug)]
pub struct MemoryRevocations {
    /// Expiry by session.
    ended: DashMap<SessionId, u64>,
    capacity: usize,
    /// The earliest time at which looking for expired entries may find any.
    next_sweep: AtomicU64,
}

impl MemoryRevocations {
    /// How many sessions it remembers unless told otherwise, some 50 bytes each.
    pub const CAPACITY: usize = 1_000_000;
    /// How long expired entries may stay, in milliseconds.
    const SWEEP_EVERY: u64 = 60_000;

    /// A store for that many sessions. It never forgets one that is still needed; when full it refuses.
    pub fn new(capacity: usize) -> Self {
        Self { ended: DashMap::new(), capacity, next_sweep: AtomicU64::new(0) }
    }

    /// How many sessions it remembers.
    pub fn len(&self) -> usize {
        self.ended.len()
    }

    /// Whether it remembers none.
    pub fn is_empty(&self) -> bool {
        self.ended.is_empty()
    }

    fn insert(&self, session: SessionId, expires_at: u64, now: u64) -> Result<(), StoreError> {
        let due = self.next_sweep.load(Ordering::Relaxed);
        // Swept when the time has come, and when there is no room, whatever the clock did in between.
        if now >= due || self.ended.len() >= self.capacity {
            self.next_sweep.store(now.saturating_add(Self::SWEEP_EVERY), Ordering::Relaxed);
            self.ended.retain(|_, expiry| *expiry > now);
        }
        if self.ended.len() >= self.capacity && !self.ended.contains_key(&session) {
            return Err(StoreError::Full);
        }
        self.ended.insert(session, expires_at);
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
        Either::Left(ready(Ok(self.ended.contains_key(&session))))
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
    fn entries_go_when_they_are_not_needed_any_more() {
        let store = MemoryRevocations::new(100);
        store.insert(id(1), 1_000, 0).unwrap();
        store.insert(id(2), 200_000, 0).unwrap();
        assert_eq!(store.len(), 2);
        store.insert(id(3), 300_000, 100_000).unwrap();
        assert!(store.ended.contains_key(&id(2)) && store.ended.contains_key(&id(3)));
        assert_eq!(store.len(), 2, "the first has expired");
    }

    #[test]
    fn a_full_store_refuses_rather_than_forget() {
        let store = MemoryRevocations::new(2);
        store.insert(id(1), 1_000, 0).unwrap();
        store.insert(id(2), 2_000, 0).unwrap();
        assert!(matches!(store.insert(id(3), 3_000, 0), Err(StoreError::Full)));
        store.insert(id(2), 2_000, 0).unwrap();
        assert!(store.ended.contains_key(&id(1)) && store.ended.contains_key(&id(2)));
        store.insert(id(3), 3_000, 1_500).unwrap();
        assert!(!store.ended.contains_key(&id(1)));
    }
}
