//! A cache of revoked sessions, kept up to date through a signal file.
//!
//! Every request needs the check, so it is answered from memory. The signal file beside the state file grows by one byte
//! with each logout, after the commit. Comparing its length costs a fraction of a query; new sessions are read from the
//! database only if the length has changed.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use mesh_integrity::SessionId;
use parking_lot::Mutex;
use rusqlite::Connection;

const NEWER: &str = "SELECT number, session, until FROM revocation WHERE number > ?1 ORDER BY number";
const IS_REVOKED: &str = "SELECT 1 FROM revocation WHERE session = ?1";

/// The revoked sessions of a state file.
pub(super) struct RevokedSessions {
    signal: File,
    /// The length of the signal file at the last update of `sessions`.
    length: AtomicU64,
    /// The number of the last row that was read.
    last_row: Mutex<i64>,
    /// The expiry time of each revoked session.
    sessions: DashMap<SessionId, i64>,
}

impl RevokedSessions {
    /// Opens or creates the signal file beside the database.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let mut name = state.as_os_str().to_owned();
        name.push("-signal");
        let signal = OpenOptions::new().create(true).read(true).append(true).open(PathBuf::from(name))?;
        // No file has this length, so the first lookup reads the database.
        let length = AtomicU64::new(u64::MAX);
        Ok(Self { signal, length, last_row: Mutex::new(0), sessions: DashMap::new() })
    }

    /// Returns whether a session is revoked.
    pub(super) fn contains(
        &self,
        session: SessionId,
        database: &Mutex<Connection>,
    ) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
        let signal = self.signal.metadata()?;
        if is_deleted(&signal) {
            // Other processes may use a new signal file.
            return Ok(database.lock().prepare_cached(IS_REVOKED)?.exists([session.0.as_slice()])?);
        }
        if self.length.load(Ordering::Acquire) != signal.len() {
            self.read_newer(&database.lock(), signal.len())?;
        }
        Ok(self.sessions.contains_key(&session))
    }

    fn read_newer(&self, connection: &Connection, length: u64) -> rusqlite::Result<()> {
        let mut last = self.last_row.lock();
        let mut statement = connection.prepare_cached(NEWER)?;
        let mut rows = statement.query([*last])?;
        while let Some(row) = rows.next()? {
            self.sessions.insert(SessionId(row.get(1)?), row.get(2)?);
            *last = row.get(0)?;
        }
        self.length.store(length, Ordering::Release);
        Ok(())
    }

    /// Signals to all processes that the database has changed.
    pub(super) fn signal(&self) -> io::Result<()> {
        (&self.signal).write_all(b".")
    }

    /// Removes sessions that have expired.
    pub(super) fn remove_expired(&self, now: i64) {
        self.sessions.retain(|_, until| *until > now);
    }
}

/// Returns whether the file has been deleted since it was opened.
#[cfg(unix)]
fn is_deleted(signal: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(signal) == 0
}

/// Returns `false`, because an open file cannot be deleted on this platform.
#[cfg(not(unix))]
fn is_deleted(_: &Metadata) -> bool {
    false
}
