//! Revoked sessions and used nonces.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::Either;
use mesh_integrity::{MaybeReady, NonceStore, RevocationStore, SessionId, StoreError};
use rusqlite::{Connection, ErrorCode, params};

use super::{Inner, PATIENCE, State, count, run_blocking};

/// The interval of deleting expired entries, in milliseconds.
const SWEEP_EVERY: u64 = 30_000;

const REVOKE: &str = "INSERT OR REPLACE INTO revocation (session, until) VALUES (?1, ?2)";
/// Changes nothing if the nonce exists and has not expired.
const REMEMBER: &str = "INSERT INTO nonce (session, nonce, until) VALUES (?1, ?2, ?3)
    ON CONFLICT (session, nonce) DO UPDATE SET until = ?3 WHERE until <= ?4";

impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, now: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        self.sweep_when_due(now);
        let found = self.inner.revoked.contains(session, &self.inner.lookups);
        Either::Left(ready(found.map_err(StoreError::Failed)))
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        Either::Right(Box::pin(async move {
            let revoking = run_blocking(&self.inner, move |inner| inner.revoke(session, expires_at, now));
            if !revoking.await.map_err(StoreError::Failed)? {
                return Err(StoreError::Full);
            }
            self.inner.revoked.signal().map_err(StoreError::new)
        }))
    }
}

impl NonceStore for State {
    fn remember<'a>(
        &'a self,
        session: SessionId,
        nonce: &'a str,
        until: u64,
        now: u64,
    ) -> MaybeReady<'a, Result<bool, StoreError>> {
        self.sweep_when_due(now);
        // Usually the lock is free, and the write takes less time than moving it to another thread.
        if let Some(done) = self.inner.try_remember(session, nonce, until, now).transpose() {
            return Either::Left(ready(done.map_err(StoreError::new)));
        }
        let nonce = nonce.to_owned();
        let work = move |inner: &Inner| remember(&inner.fast.lock(), session, &nonce, until, now);
        Either::Right(Box::pin(
            async move { run_blocking(&self.inner, work).await.map_err(StoreError::Failed) },
        ))
    }
}

impl State {
    fn sweep_when_due(&self, now: u64) {
        let due = self.inner.next_sweep.load(Ordering::Relaxed);
        let next = now.saturating_add(SWEEP_EVERY);
        let exchange = |due| {
            self.inner.next_sweep.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if now >= due && exchange(due) {
            let inner = Arc::clone(&self.inner);
            // No request waits for it. If it fails, the next one may succeed.
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

    /// Stores a nonce, or returns `None` if that would have to wait.
    fn try_remember(
        &self,
        session: SessionId,
        nonce: &str,
        until: u64,
        now: u64,
    ) -> rusqlite::Result<Option<bool>> {
        let Some(fast) = self.fast.try_lock() else { return Ok(None) };
        fast.busy_timeout(Duration::ZERO)?;
        let done = remember(&fast, session, nonce, until, now);
        fast.busy_timeout(PATIENCE)?;
        match done {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(None),
            done => done.map(Some),
        }
    }

    pub(super) fn sweep(&self, now: u64) -> rusqlite::Result<()> {
        let fast = self.fast.lock();
        fast.execute("DELETE FROM nonce WHERE until <= ?1", [to_sql_time(now)])?;
        fast.execute("DELETE FROM revocation WHERE until <= ?1", [to_sql_time(now)])?;
        self.revoked.remove_expired(to_sql_time(now));
        Ok(())
    }
}

fn remember(
    connection: &Connection,
    session: SessionId,
    nonce: &str,
    until: u64,
    now: u64,
) -> rusqlite::Result<bool> {
    let values = params![session.0.as_slice(), nonce, to_sql_time(until), to_sql_time(now)];
    Ok(connection.prepare_cached(REMEMBER)?.execute(values)? == 1)
}

/// Converts a time, saturating at the largest integer of SQLite.
fn to_sql_time(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
