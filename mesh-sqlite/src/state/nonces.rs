//! Used nonces: the table that servers on one machine share, and the check whether a server runs alone.
//!
//! Each server holds a shared lock on a file beside the state file. A server that obtains the lock exclusively is the
//! only one. The system releases the locks of a process however it ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use mesh_integrity::{
    BoxFuture, Claimed, NonceRow, NonceTable, NonceUse, SessionId, StoreError, unix_millis,
};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::sessions::to_sql_time;
use super::{BoxError, Inner, State};
use crate::file::beside;

const MARK: &str = "SELECT time FROM nonce_mark";
/// Raises the mark, unless servers of earlier versions may run.
const CLAIM: &str = "UPDATE nonce_mark SET time = ?1 WHERE time < ?1 AND shared_until <= ?2";
const CLAIMED: &str = "SELECT session, nonce, time, until FROM nonce WHERE time > ?1 AND time <= ?2";
/// Changes nothing if the nonce exists and has not expired.
const INSERT: &str = "INSERT INTO nonce (session, nonce, time, until) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (session, nonce) DO UPDATE SET time = ?3, until = ?4 WHERE until <= ?5";
/// Raises the mark after a restart of the machine, which may have lost data that was not on disk.
const RECOVER: &str =
    "UPDATE nonce_mark SET boot = ?1, time = CASE boot WHEN '' THEN time ELSE max(time, ?2) END
    WHERE boot <> ?1";

/// The lock that a running server holds.
pub(super) struct Presence(File);

impl Presence {
    /// Takes the lock that all servers of a state file share.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let path = beside(state, "-servers");
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        // If locking fails, servers share all nonces.
        let _ = file.lock_shared();
        Ok(Self(file))
    }

    /// Returns whether no other server holds the lock. Returns `false` if the system cannot determine this.
    fn is_alone(&self) -> bool {
        let is_alone = self.0.try_lock().is_ok();
        // The attempt may have released the lock.
        self.0.lock_shared().is_ok() && is_alone
    }
}

impl NonceTable for State {
    fn mark(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.run(|inner| inner.lookups.lock().query_row(MARK, [], time_of)))
    }

    fn claim(&self, time: u64, now: u64) -> BoxFuture<'_, Result<Option<Claimed>, StoreError>> {
        Box::pin(self.run(move |inner| inner.claim(time, now)))
    }

    fn insert(&self, nonces: Vec<NonceRow>, now: u64) -> BoxFuture<'_, Result<Vec<NonceUse>, StoreError>> {
        self.sweep_when_due(now);
        Box::pin(self.run(move |inner| inner.insert(&nonces, now)))
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) {
        drop(tokio::spawn(work));
    }
}

impl Inner {
    /// Raises the mark after a restart of the machine, and makes it durable.
    pub(super) fn recover_nonces(&self) -> Result<(), BoxError> {
        let now = to_sql_time(unix_millis(SystemTime::now()));
        self.durable.lock().execute(RECOVER, params![boot(), now])?;
        Ok(())
    }

    fn claim(&self, time: u64, now: u64) -> rusqlite::Result<Option<Claimed>> {
        let mut fast = self.fast.lock();
        let change = fast.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if !self.presence.is_alone() {
            return Ok(None);
        }
        let after = change.query_row(MARK, [], time_of)?;
        if change.prepare_cached(CLAIM)?.execute([to_sql_time(time), to_sql_time(now)])? == 0 {
            return Ok(None);
        }
        let used = claimed(&change, after, time)?;
        change.commit()?;
        Ok(Some(Claimed { after, used }))
    }

    fn insert(&self, nonces: &[NonceRow], now: u64) -> rusqlite::Result<Vec<NonceUse>> {
        // The mark that is set after a crash of the machine covers timestamps up to that moment, but not timestamps
        // ahead of the clock.
        let is_ahead = nonces.iter().any(|row| row.time > now);
        let mut connection = if is_ahead { self.durable.lock() } else { self.fast.lock() };
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mark = change.query_row(MARK, [], time_of)?;
        let mut uses = Vec::with_capacity(nonces.len());
        for row in nonces {
            uses.push(if row.time > mark { insert(&change, row, now)? } else { NonceUse::Unknown });
        }
        change.commit()?;
        Ok(uses)
    }
}

fn insert(change: &Transaction<'_>, row: &NonceRow, now: u64) -> rusqlite::Result<NonceUse> {
    let [time, until, now] = [row.time, row.until, now].map(to_sql_time);
    let values = params![row.session.0.as_slice(), row.text, time, until, now];
    let is_new = change.prepare_cached(INSERT)?.execute(values)? == 1;
    Ok(if is_new { NonceUse::New } else { NonceUse::Used })
}

/// Returns the nonces of newly claimed timestamps.
fn claimed(connection: &Connection, after: u64, time: u64) -> rusqlite::Result<Vec<NonceRow>> {
    let mut statement = connection.prepare_cached(CLAIMED)?;
    let rows = statement.query_map([to_sql_time(after), to_sql_time(time)], |row| {
        let [time, until] = [row.get::<_, i64>(2)?, row.get(3)?].map(|time| u64::try_from(time).unwrap_or(0));
        Ok(NonceRow { session: SessionId(row.get(0)?), text: row.get(1)?, time, until })
    })?;
    rows.collect()
}

fn time_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<u64> {
    row.get::<_, i64>(0).map(|time| u64::try_from(time).unwrap_or(0))
}

/// Returns an identifier of the current boot of the machine. On a system without one, each start of a server counts as
/// a boot.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    match id.trim() {
        "" => format!("process {} {:?}", std::process::id(), SystemTime::now()),
        id => id.to_owned(),
    }
}
