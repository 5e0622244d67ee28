//! State that outlives the server: ended sessions, used nonces and registered queries, in a SQLite file of its own.
//!
//! The file is stored beside the served one, which can therefore be read-only. All processes see what one has committed
//! at once. Data that must not be lost is on disk before a call returns. Nonces, which matter for a minute only, survive
//! a crash of the process but not one of the machine.

mod queries;
mod revoked_sessions;
mod sessions;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use revoked_sessions::RevokedSessions;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(5);
/// The layout of the file, kept in its `user_version`.
const LAYOUT: i64 = 1;
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS revocation (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session BLOB NOT NULL UNIQUE, until INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS revocation_until ON revocation (until);
CREATE TABLE IF NOT EXISTS nonce (
    session BLOB NOT NULL, nonce TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (session, nonce)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS nonce_until ON nonce (until);
CREATE TABLE IF NOT EXISTS query (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, format TEXT NOT NULL,
    text TEXT NOT NULL
);
";

/// What is kept of it at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateLimits {
    /// Ended sessions.
    pub revocations: usize,
    /// Nonces.
    pub nonces: usize,
    /// Registered queries.
    pub queries: usize,
    /// Bytes of the texts of registered queries.
    pub query_bytes: usize,
}

impl Default for StateLimits {
    fn default() -> Self {
        Self { revocations: 1_000_000, nonces: 1_000_000, queries: 10_000, query_bytes: 32 << 20 }
    }
}

/// A file of state. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct State {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    limits: StateLimits,
    /// Connections for lookups that are not in use.
    idle: Mutex<Vec<Connection>>,
    /// Writes what must be on disk before it counts.
    sure: Mutex<Connection>,
    /// Writes what may be lost with the machine.
    quick: Mutex<Connection>,
    revoked: RevokedSessions,
    nonces: AtomicUsize,
    next_sweep: AtomicU64,
}

impl State {
    /// Where the state of a database lies unless told otherwise: `<database>.mesh-state`.
    pub fn beside(database: &Path) -> PathBuf {
        let mut name = OsString::from(database);
        name.push(".mesh-state");
        name.into()
    }

    /// Opens a file, or makes it, and makes sure that it can be written.
    ///
    /// # Errors
    /// When it cannot be written, or is another kind of file.
    pub fn open(path: &Path, limits: StateLimits) -> Result<Self, StateError> {
        let failed = |error: rusqlite::Error| StateError {
            path: path.display().to_string(),
            why: match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => "it is another kind of file".to_owned(),
                _ => error.to_string(),
            },
        };
        let mut sure = connect(path).map_err(failed)?;
        if !prepare(&mut sure).map_err(failed)? {
            let why = "it is of another version of this program".to_owned();
            return Err(StateError { path: path.display().to_string(), why });
        }
        let revoked = RevokedSessions::open(path)
            .map_err(|error| StateError { path: path.display().to_string(), why: error.to_string() })?;
        let quick = connect(path).map_err(failed)?;
        quick.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
        let nonces = count(&quick, "SELECT count(*) FROM nonce").map_err(failed)?;
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                limits,
                idle: Mutex::default(),
                sure: Mutex::new(sure),
                quick: Mutex::new(quick),
                revoked,
                nonces: AtomicUsize::new(nonces),
                next_sweep: AtomicU64::new(0),
            }),
        })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

/// A connection that waits for others, in a mode in which those who read wait for nobody.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Makes the tables where there are none. Says whether the layout is the one of this program.
fn prepare(connection: &mut Connection) -> rusqlite::Result<bool> {
    let change = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let layout: i64 = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if layout != LAYOUT {
        let tables: i64 = change.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if layout != 0 || tables != 0 {
            return Ok(false);
        }
        change.pragma_update(None, "user_version", LAYOUT)?;
    }
    change.execute_batch(TABLES)?;
    change.commit()?;
    Ok(true)
}

/// The one number that a statement gives.
fn count(connection: &Connection, sql: &str) -> rusqlite::Result<usize> {
    let number: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(usize::try_from(number).unwrap_or_default())
}

impl Inner {
    /// Looks something up. Short enough for the runtime's own threads.
    fn look_up<T>(&self, find: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = idle.map_or_else(|| connect(&self.path), Ok)?;
        let found = find(&connection);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        found
    }
}

/// Runs work that may wait for the disk or for other processes where it holds up nobody.
async fn waiting<T: Send + 'static>(
    inner: &Arc<Inner>,
    work: impl FnOnce(&Inner) -> rusqlite::Result<T> + Send + 'static,
) -> Result<T, Box<dyn std::error::Error + Send + Sync>> {
    let inner = Arc::clone(inner);
    Ok(tokio::task::spawn_blocking(move || work(&inner)).await??)
}

/// The file of state cannot be used.
#[derive(Debug)]
pub struct StateError {
    path: String,
    why: String,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot keep state in {}: {}", self.path, self.why)
    }
}

impl std::error::Error for StateError {}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
