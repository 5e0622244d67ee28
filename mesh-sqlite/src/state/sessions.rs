//! Revoked sessions, and the deletion of expired entries.

use std::fs::OpenOptions;
use std::future::ready;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::Either;
use mesh_integrity::{MaybeReady, RevocationStore, SessionId, StoreError};
use rusqlite::params;

use super::{Inner, State};
use crate::file::beside;

/// The interval between deletions of expired entries, in milliseconds.
const SWEEP_EVERY: u64 = 30_000;

const COUNT: &str = "SELECT count(*) FROM revocation";
const REVOKE: &str = "INSERT OR REPLACE INTO revocation (session, until) VALUES (?1, ?2)";

impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, now: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        self.sweep_when_due(now);
        let found = self.inner.check_file().and_then(|()| {
            self.inner.revoked.contains(session, &self.inner.lookups).map_err(StoreError::new)
        });
        Either::Left(ready(found))
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        Either::Right(Box::pin(async move {
            if !self.run(move |inner| inner.revoke(session, expires_at, now)).await? {
                return Err(StoreError::Full);
            }
            self.inner.signal_earlier_servers().map_err(StoreError::new)
        }))
    }
}

impl State {
    pub(super) fn sweep_when_due(&self, now: u64) {
        let due = self.inner.next_sweep.load(Ordering::Relaxed);
        if now >= due {
            // Two deletions at once do no harm.
            self.inner.next_sweep.store(now.saturating_add(SWEEP_EVERY), Ordering::Relaxed);
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
        let count: i64 = durable.prepare_cached(COUNT)?.query_row([], |row| row.get(0))?;
        if count >= i64::try_from(self.limits.revocations).unwrap_or(i64::MAX) {
            return Ok(false);
        }
        durable.prepare_cached(REVOKE)?.execute(params![session.0.as_slice(), to_sql_time(expires_at)])?;
        Ok(true)
    }

    /// Notifies servers of version 0.1.0 of a revocation: they compare the length of a file beside the state, which exists if
    /// such a server has been started.
    fn signal_earlier_servers(&self) -> io::Result<()> {
        match OpenOptions::new().append(true).open(beside(&self.path, "-signal")) {
            Ok(mut signal) => signal.write_all(b"."),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
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

/// Converts a time, saturating at the largest integer of SQLite.
pub(super) fn to_sql_time(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
