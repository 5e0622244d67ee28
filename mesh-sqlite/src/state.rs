//! State that outlives the server, in a separate SQLite file: revoked sessions, used nonces and registered queries.
//!
//! The file is stored beside the served one, which can therefore be read-only. All processes see a commit immediately.
//! Data that must not be lost is on disk before a call returns. Nonces, which matter only for a minute, survive a crash
//! of the process. After a crash of the machine, all timestamps up to the recovery are refused.

mod layout;
mod nonces;
mod queries;
mod revoked_sessions;
mod sessions;

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};

use layout::NewerLayout;
use nonces::Presence;
use revoked_sessions::RevokedSessions;

use crate::file::journal_mode::switch_to_wal;

type BoxError = Box<dyn Error + Send + Sync>;

/// The time limit for waiting for a writer in another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The limits of a state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateLimits {
    /// The maximum number of revoked sessions.
    pub revocations: usize,
    /// The maximum number of registered queries.
    pub queries: usize,
    /// The maximum total size of the texts of registered queries, in bytes.
    pub query_bytes: usize,
}

impl Default for StateLimits {
    fn default() -> Self {
        Self { revocations: 1_000_000, queries: 10_000, query_bytes: 32 << 20 }
    }
}

/// A state file. Clones share connections.
#[derive(Clone)]
pub struct State {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    limits: StateLimits,
    /// The connection for lookups, which are short enough for a thread of the runtime.
    lookups: Mutex<Connection>,
    /// The connection for writes that must be on disk before they are confirmed.
    durable: Mutex<Connection>,
    /// The connection for writes that may be lost if the machine crashes.
    fast: Mutex<Connection>,
    revoked: RevokedSessions,
    presence: Presence,
    next_sweep: AtomicU64,
}

impl State {
    /// Returns the default path of the state of a database: `<database>.mesh-state`.
    pub fn default_path(database: &Path) -> PathBuf {
        let mut name = OsString::from(database);
        name.push(".mesh-state");
        name.into()
    }

    /// Opens or creates a file, and checks that it can be written. A file of an earlier version is migrated; earlier servers
    /// of the same major version can still use it.
    ///
    /// # Errors
    /// The file cannot be written, is not a state file, or was written by a newer server ([`StateError::is_newer_layout`]).
    pub fn open(path: &Path, limits: StateLimits) -> Result<Self, StateError> {
        let opened = Inner::open(path, limits);
        let inner = opened.map_err(|cause| StateError { path: path.display().to_string(), cause })?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

/// Opens a connection in WAL mode, in which readers never wait.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    switch_to_wal(&connection, BUSY_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Returns the number that a statement selects.
fn count(connection: &Connection, sql: &str) -> rusqlite::Result<usize> {
    let number: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(usize::try_from(number).unwrap_or_default())
}

impl Inner {
    fn open(path: &Path, limits: StateLimits) -> Result<Self, BoxError> {
        let mut durable = connect(path)?;
        layout::migrate(&mut durable)?;
        let revoked = RevokedSessions::new(path, connect(path)?);
        let fast = connect(path)?;
        fast.pragma_update(None, "synchronous", "NORMAL")?;
        let inner = Self {
            path: path.to_owned(),
            limits,
            lookups: Mutex::new(connect(path)?),
            durable: Mutex::new(durable),
            fast: Mutex::new(fast),
            revoked,
            // The lock is taken before the mark is read, so that a server which seems to be alone does not raise the
            // mark.
            presence: Presence::open(path)?,
            next_sweep: AtomicU64::new(0),
        };
        inner.recover_nonces()?;
        Ok(inner)
    }
}

/// Runs work that may wait for the disk or other processes, on a thread that may block.
async fn run_blocking<T: Send + 'static>(
    inner: &Arc<Inner>,
    work: impl FnOnce(&Inner) -> rusqlite::Result<T> + Send + 'static,
) -> Result<T, BoxError> {
    let inner = Arc::clone(inner);
    Ok(tokio::task::spawn_blocking(move || work(&inner)).await??)
}

/// The error for a state file that cannot be used.
#[derive(Debug)]
pub struct StateError {
    path: String,
    cause: BoxError,
}

impl StateError {
    /// Returns whether the file was written by a newer server, in a layout that this one cannot read. A server that
    /// runs without the file would accept revoked sessions.
    pub fn is_newer_layout(&self) -> bool {
        self.cause.is::<NewerLayout>()
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot keep state in {}: ", self.path)?;
        match self.cause.downcast_ref().and_then(rusqlite::Error::sqlite_error_code) {
            Some(ErrorCode::NotADatabase) => f.write_str("it is not a SQLite database"),
            _ => self.cause.fmt(f),
        }
    }
}

impl Error for StateError {}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
