//! The change feed: the version of the file, polled while there are listeners.
//!
//! SQLite reports that another connection has committed, but not what. So every notice says that anything may have
//! changed. This also covers what writes of this process change beyond the records they name: cascades, triggers, views.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mesh_plan::{Change, Changes};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::database::Database;
use crate::error::{Cause, OpenError};
use crate::file::FileId;

/// The polling interval. One check takes microseconds.
const INTERVAL: Duration = Duration::from_millis(200);

impl Database {
    /// Notifies `changes` of writes to the file within a fraction of a second. The returned future never completes and
    /// must be spawned; it polls only while there are listeners.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub fn watch(&self, changes: Changes) -> Result<impl Future<Output = ()> + Send + 'static, OpenError> {
        let path = self.path();
        // Opened before there are listeners, so that every later write is noticed.
        let version = Version::open(&path)
            .map_err(|error| OpenError { path: path.display().to_string(), cause: Cause::Sqlite(error) })?;
        Ok(watch(path, version, changes))
    }
}

async fn watch(path: PathBuf, version: Version, changes: Changes) {
    let mut version = Some(version);
    let mut id = FileId::from_path(&path);
    let mut is_logged = false;
    loop {
        changes.wanted().await;
        let current = FileId::from_path(&path);
        if current != id {
            (id, version) = (current, None);
        }
        match check(&path, &mut version) {
            Ok(false) => {}
            Ok(true) => {
                is_logged = false;
                changes.notify(Change::anything());
            }
            Err(error) if is_busy(&error) => {}
            Err(error) => {
                // Logged once until the next success.
                if !std::mem::replace(&mut is_logged, true) {
                    tracing::warn!("cannot see whether the database has changed: {error}");
                }
                version = None;
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns whether there may have been writes since the last check.
fn check(path: &Path, version: &mut Option<Version>) -> rusqlite::Result<bool> {
    match version {
        Some(version) => version.has_changed(),
        None => {
            *version = Some(Version::open(path)?);
            Ok(true)
        }
    }
}

/// Returns whether a writer holds the whole file, which passes until the next check.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A connection with the version that it read last. Versions of different connections cannot be compared.
struct Version {
    connection: Connection,
    last: i64,
}

impl Version {
    fn open(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        // A writer may hold the file for a moment. Later checks just wait for the next interval.
        connection.busy_timeout(Duration::from_secs(1))?;
        let mut version = Self { connection, last: 0 };
        version.has_changed()?;
        version.connection.busy_timeout(Duration::ZERO)?;
        Ok(version)
    }

    fn has_changed(&mut self) -> rusqlite::Result<bool> {
        let now = self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        Ok(std::mem::replace(&mut self.last, now) != now)
    }
}

#[cfg(test)]
mod tests;
