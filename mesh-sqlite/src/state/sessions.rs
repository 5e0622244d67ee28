//! Ended sessions and used nonces.

use std::future::ready;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, TryLockError};
use std::time::Duration;

use futures_util::future::Either;
use mesh_integrity::{MaybeReady, NonceStore, RevocationStore, SessionId, StoreError};
use rusqlite::{Connection, ErrorCode, params};

use super::{Inner, PATIENCE, State, count, waiting};

/// How often entries that are not needed any more are dropped, in milliseconds.
const SWEEP_EVERY: u64 = 30_000;

const REVOKE: &str = "INSERT OR REPLACE INTO revocation (session, until) VALUES (?1, ?2)";
/// Changes nothing where the nonce is there and still needed.
const REMEMBER: &str = "INSERT INTO nonce (session, nonce, until) VALUES (?1, ?2, ?3)
    ON CONFLICT (session, nonce) DO UPDATE SET until = ?3 WHERE until <= ?4";

impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, now: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        self.sweep_when_due(now);
        let inner = &self.inner;
        let found = inner.revoked.has(session, |ask| inner.look_up(ask));
        Either::Left(ready(found.map_err(StoreError::Failed)))
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        Either::Right(Box::pin(async move {
            let revoking = waiting(&self.inner, move |inner| inner.revoke(session, expires_at, now));
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
        if self.inner.nonces.load(Ordering::Relaxed) >= self.inner.limits.nonces {
            return Either::Left(ready(Err(StoreError::Full)));
        }
        // Usually the lock is free, and the write takes less time than moving it to another thread.
        if let Some(done) = self.inner.try_remember(session, nonce, until, now).transpose() {
            let done = done.map(|is_new| self.inner.count_nonce(is_new)).map_err(StoreError::new);
            return Either::Left(ready(done));
        }
        let nonce = nonce.to_owned();
        let work = move |inner: &Inner| {
            let quick = inner.quick.lock().unwrap_or_else(PoisonError::into_inner);
            remember(&quick, session, &nonce, until, now).map(|is_new| inner.count_nonce(is_new))
        };
        Either::Right(Box::pin(async move { waiting(&self.inner, work).await.map_err(StoreError::Failed) }))
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
            // Nobody waits for it; where it fails, the next one may succeed.
            drop(tokio::task::spawn_blocking(move || {
                if let Err(error) = inner.sweep(now) {
                    tracing::warn!("{}: old entries were not dropped: {error}", inner.path.display());
                }
            }));
        }
    }
}

impl Inner {
    /// Whether there was room for it.
    fn revoke(&self, session: SessionId, expires_at: u64, now: u64) -> rusqlite::Result<bool> {
        let sure = self.sure.lock().unwrap_or_else(PoisonError::into_inner);
        sure.prepare_cached("DELETE FROM revocation WHERE until <= ?1")?.execute([stored(now)])?;
        if count(&sure, "SELECT count(*) FROM revocation")? >= self.limits.revocations {
            return Ok(false);
        }
        sure.prepare_cached(REVOKE)?.execute(params![session.0.as_slice(), stored(expires_at)])?;
        Ok(true)
    }

    fn count_nonce(&self, is_new: bool) -> bool {
        if is_new {
            self.nonces.fetch_add(1, Ordering::Relaxed);
        }
        is_new
    }

    /// `None` where it would have to wait.
    fn try_remember(
        &self,
        session: SessionId,
        nonce: &str,
        until: u64,
        now: u64,
    ) -> rusqlite::Result<Option<bool>> {
        let quick = match self.quick.try_lock() {
            Ok(quick) => quick,
            Err(TryLockError::Poisoned(quick)) => quick.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        quick.busy_timeout(Duration::ZERO)?;
        let done = remember(&quick, session, nonce, until, now);
        quick.busy_timeout(PATIENCE)?;
        match done {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(None),
            done => done.map(Some),
        }
    }

    pub(super) fn sweep(&self, now: u64) -> rusqlite::Result<()> {
        let quick = self.quick.lock().unwrap_or_else(PoisonError::into_inner);
        quick.execute("DELETE FROM nonce WHERE until <= ?1", [stored(now)])?;
        quick.execute("DELETE FROM revocation WHERE until <= ?1", [stored(now)])?;
        self.revoked.forget(stored(now));
        self.nonces.store(count(&quick, "SELECT count(*) FROM nonce")?, Ordering::Relaxed);
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
    let values = params![session.0.as_slice(), nonce, stored(until), stored(now)];
    Ok(connection.prepare_cached(REMEMBER)?.execute(values)? == 1)
}

/// Times past what SQLite's integers hold are as good as the last one that they do.
fn stored(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
