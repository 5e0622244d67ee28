//! Revoked sessions, and the deletion of expired entries.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::Either;
use mesh_integrity::{MaybeReady, RevocationStore, SessionId, StoreError};
use rusqlite::params;

use super::{Inner, State, count, run_blocking};

/// The interval between deletions of expired entries, in milliseconds.
const SWEEP_EVERY: u64 = 30_000;

const REVOKE: &str = "INSERT OR REPLACE INTO revocation (session, until) VALUES (?1, ?2)";

impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, now: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        self.sweep_when_due(now);
        let found = self.inner.revoked.contains(session, &self.inner.lookups);
        Either::Left(ready(found.map_err(StoreError::new)))
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        Either::Right(Box::pin(async move {
            let revoking = run_blocking(&self.inner, move |inner| inner.revoke(session, expires_at, now));
            let is_stored = revoking.await.map_err(StoreError::Failed)?;
            if is_stored { Ok(()) } else { Err(StoreError::Full) }
        }))
    }
}

impl State {
    pub(super) fn sweep_when_due(&self, now: u64) {
        let due = self.inner.next_sweep.load(Ordering::Relaxed);
        let next = now.saturating_add(SWEEP_EVERY);
        let exchange = |due| {
            self.inner.next_sweep.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if now >= due && exchange(due) {
            let inner = Arc::clone(&self.inner);
            // No request waits for the deletion. If it fails, the next one may succeed.
            drop(tokio::task::spawn_blocking(move || {
                if let Err(error) = inner.sweep(now) {
                    tracing::warn!("cannot delete expired entries of {}: {error}", inner.path.display());
                }
            }));
        }
    }
}

impl Inner {
    /// Stores a revocation. Returns `false` if the limit is reached.
    fn revoke(&self, session: SessionId, expires_at: u64, now: u64) -> rusqlite::Result<bool> {
        let durable = self.durable.lock();
        durable.prepare_cached("DELETE FROM revocation WHERE until <= ?1")?.execute([to_sql_time(now)])?;
        if count(&durable, "SELECT count(*) FROM revocation")? >= self.limits.revocations {
            return Ok(false);
        }
        durable.prepare_cached(REVOKE)?.execute(params![session.0.as_slice(), to_sql_time(expires_at)])?;
        Ok(true)
    }

    pub(super) fn sweep(&self, now: u64) -> rusqlite::Result<()> {
        let fast = self.fast.lock();
        fast.execute("DELETE FROM nonce WHERE until <= ?1", [to_sql_time(now)])?;
        fast.execute("DELETE FROM revocation WHERE until <= ?1", [to_sql_time(now)])?;
        self.revoked.remove_expired(to_sql_time(now));
        Ok(())
    }
}

/// Converts a time, saturating at the largest integer of SQLite.
pub(super) fn to_sql_time(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
