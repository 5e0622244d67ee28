//! Has anybody written to the file? A look at its version, as long as somebody wants to know.
//!
//! SQLite tells a connection that others have committed, not what: so every such notice says that anything may
//! have changed. Writes of this process are among them; what they do beyond the records they name, by cascades
//! and triggers or seen through views, is found in this way too.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mesh_plan::{Change, Changes};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::database::Database;
use crate::error::{Cause, OpenError};
use crate::file::FileId;

/// How often the file is looked at. A look takes some microseconds.
const INTERVAL: Duration = Duration::from_millis(200);

impl Database {
    /// Tells `changes` of writes to the file, within a fraction of a second. The future never ends; it has to
    /// be spawned, and looks only while somebody listens.
    ///
    /// # Errors
    /// When the file cannot be opened once more.
    pub fn watch(&self, changes: Changes) -> Result<impl Future<Output = ()> + Send + 'static, OpenError> {
        let path = self.path();
        // OpenFile before anybody can listen: whatever is written from now on is noticed.
        let version = Version::open(&path)
            .map_err(|error| OpenError { path: path.display().to_string(), cause: Cause::Sqlite(error) })?;
        Ok(watch(path, version, changes))
    }
}

async fn watch(path: PathBuf, version: Version, changes: Changes) {
    let mut version = Some(version);
    let mut id = FileId::of(&path);
    let mut is_told = false;
    loop {
        changes.wanted().await;
        let there = FileId::of(&path);
        if there != id {
            (id, version) = (there, None);
        }
        match look(&path, &mut version) {
            Ok(false) => {}
            Ok(true) => {
                is_told = false;
                changes.notify(Change::anything());
            }
            Err(error) if is_busy(&error) => {}
            Err(error) => {
                // Said once, and not with every look until it is well again.
                if !std::mem::replace(&mut is_told, true) {
                    tracing::warn!("cannot see whether the database has changed: {error}");
                }
                version = None;
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Whether somebody may have written since the last look.
fn look(path: &Path, version: &mut Option<Version>) -> rusqlite::Result<bool> {
    match version {
        Some(version) => version.has_changed(),
        None => {
            *version = Some(Version::open(path)?);
            Ok(true)
        }
    }
}

/// A writer that holds the whole file will be done by the next look.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A connection with the version that it has seen last. Versions of two connections mean nothing to each other.
struct Version {
    connection: Connection,
    seen: i64,
}

impl Version {
    fn open(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        // Somebody may hold the file for a moment; later a look simply comes too early.
        connection.busy_timeout(Duration::from_secs(1))?;
        let mut version = Self { connection, seen: 0 };
        version.has_changed()?;
        version.connection.busy_timeout(Duration::ZERO)?;
        Ok(version)
    }

    fn has_changed(&mut self) -> rusqlite::Result<bool> {
        let now = self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        Ok(std::mem::replace(&mut self.seen, now) != now)
    }
}

#[cfg(test)]
mod tests;
