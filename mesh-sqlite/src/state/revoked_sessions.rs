//! A cache of ended sessions, kept up to date through a signal file.
//!
//! Every request needs the check, so it is answered from memory. The signal file beside the database of the state grows by
//! one byte with each logout, after that was committed. Comparing its length costs a fraction of a query; new sessions are
//! read from the database only if the length has changed.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use dashmap::DashMap;
use mesh_integrity::SessionId;
use rusqlite::Connection;

const NEWER: &str = "SELECT number, session, until FROM revocation WHERE number > ?1 ORDER BY number";
const IS_REVOKED: &str = "SELECT 1 FROM revocation WHERE session = ?1";

/// The ended sessions of a database of state.
pub(super) struct RevokedSessions {
    signal: File,
    /// The length of the file when `sessions` was last brought up to date.
    seen: AtomicU64,
    /// The number of the last row that was read.
    last: Mutex<i64>,
    /// When each session would have ended anyway.
    sessions: DashMap<SessionId, i64>,
}

impl RevokedSessions {
    /// Opens the file beside the database, or makes it.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let mut name = state.as_os_str().to_owned();
        name.push("-signal");
        let signal = OpenOptions::new().create(true).read(true).append(true).open(PathBuf::from(name))?;
        // No file is that long, so the first one who asks reads the database.
        let seen = AtomicU64::new(u64::MAX);
        Ok(Self { signal, seen, last: Mutex::new(0), sessions: DashMap::new() })
    }

    /// Whether a session has ended. `database` gives a connection where one is needed.
    pub(super) fn has(
        &self,
        session: SessionId,
        database: impl FnOnce(&dyn Fn(&Connection) -> rusqlite::Result<bool>) -> rusqlite::Result<bool>,
    ) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
        let signal = self.signal.metadata()?;
        if is_gone(&signal) {
            // Others may have another file by now, of which this one tells nothing.
            let ask = |connection: &Connection| {
                connection.prepare_cached(IS_REVOKED)?.exists([session.0.as_slice()])
            };
            return Ok(database(&ask)?);
        }
        if self.seen.load(Ordering::Acquire) == signal.len() {
            return Ok(self.sessions.contains_key(&session));
        }
        let ask = |connection: &Connection| {
            self.read_newer(connection, signal.len())?;
            Ok(self.sessions.contains_key(&session))
        };
        Ok(database(&ask)?)
    }

    fn read_newer(&self, connection: &Connection, length: u64) -> rusqlite::Result<()> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection.prepare_cached(NEWER)?;
        let mut rows = statement.query([*last])?;
        while let Some(row) = rows.next()? {
            self.sessions.insert(SessionId(row.get(1)?), row.get(2)?);
            *last = row.get(0)?;
        }
        self.seen.store(length, Ordering::Release);
        Ok(())
    }

    /// Tells all processes that the database has changed.
    pub(super) fn signal(&self) -> io::Result<()> {
        (&self.signal).write_all(b".")
    }

    /// Forgets sessions that would have ended anyway.
    pub(super) fn forget(&self, now: i64) {
        self.sessions.retain(|_, until| *until > now);
    }
}

/// Whether the file has been deleted since it was opened.
#[cfg(unix)]
fn is_gone(signal: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(signal) == 0
}

/// An open file cannot be deleted here.
#[cfg(not(unix))]
fn is_gone(_: &Metadata) -> bool {
    false
}
