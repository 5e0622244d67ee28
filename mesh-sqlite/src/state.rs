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
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mesh_backend::backend::StateStores;
use mesh_backend::error::BoxError;
use mesh_integrity::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};

use crate::error::{OpenError, without_code};
use crate::file::journal_mode::switch_to_wal;
use crate::file::{FileId, beside};
use nonces::Presence;
use revoked_sessions::RevokedSessions;

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
    /// The file that is open.
    id: FileId,
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
    /// Returns the default path of the state of a database: `<database>.mesh-state`. Symbolic links are resolved, so that all
    /// servers of a database share its state. Hard links and bind mounts cannot be resolved.
    pub fn default_path(database: &Path) -> PathBuf {
        beside(database, ".mesh-state")
    }

    /// Opens or creates a file, and checks that it can be written. A file of an earlier version is migrated; earlier servers
    /// of the same major version can still use it.
    ///
    /// # Errors
    /// The file cannot be written, is not a state file, or was written by a newer server ([`OpenError::is_newer_layout`]).
    pub fn open(path: &Path, limits: StateLimits) -> Result<Self, OpenError> {
        let inner = Inner::open(path, limits).map_err(|cause| {
            let code = cause.downcast_ref().and_then(rusqlite::Error::sqlite_error_code);
            OpenError::of_state(
                path,
                match code {
                    Some(ErrorCode::NotADatabase) => "it is not a SQLite database".into(),
                    _ => without_code(cause),
                },
            )
        })?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the stores of all state in the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn into_stores(self) -> Result<StateStores, OpenError> {
        let path = self.path().to_owned();
        StateStores::new(self, None).await.map_err(|error| OpenError::of_state(&path, error))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Runs work that may wait for the disk or other processes, on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = Arc::clone(&self.inner);
        let working = tokio::task::spawn_blocking(move || {
            inner.check_file()?;
            work(&inner).map_err(StoreError::new)
        });
        working.await.map_err(StoreError::new)?
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

impl Inner {
    fn open(path: &Path, limits: StateLimits) -> Result<Self, BoxError> {
        let before = FileId::from_path(path);
        let mut durable = connect(path)?;
        let id = FileId::from_path(path).filter(|id| before.is_none_or(|before| before == *id));
        let id = id.ok_or(Gone)?;
        layout::migrate(&mut durable)?;
        let revoked = RevokedSessions::new(path, connect(path)?);
        let fast = connect(path)?;
        fast.pragma_update(None, "synchronous", "NORMAL")?;
        let inner = Self {
            path: path.to_owned(),
            id,
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
        inner.check_file()?;
        Ok(inner)
    }

    /// Checks that the open file is still the one at the path. Other servers do not see what is written to a file that was
    /// replaced or removed, so a session that one of them has ended would be accepted here.
    fn check_file(&self) -> Result<(), StoreError> {
        if FileId::from_path(&self.path) == Some(self.id) { Ok(()) } else { Err(StoreError::new(Gone)) }
    }
}

/// The error after the file was replaced or removed. A file that is put back can be used again.
#[derive(Debug)]
struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the state file was replaced or removed; put it back, or restart the server")
    }
}

impl Error for Gone {}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
