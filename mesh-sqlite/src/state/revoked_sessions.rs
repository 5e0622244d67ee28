//! A cache of revoked sessions, which is updated when the database has changed.
//!
//! Every request needs the check, so it is answered from memory. The version of the database shows, without a system call,
//! whether a process has committed something since the last update. Only then are new sessions read from the database.

use std::path::Path;

use dashmap::DashMap;
use mesh_integrity::SessionId;
use parking_lot::{Mutex, RwLock};
use rusqlite::Connection;

use crate::file::data_version::{DataVersion, VersionReader};

const NEWER: &str = "SELECT number, session, until FROM revocation WHERE number > ?1 ORDER BY number";
const IS_REVOKED: &str = "SELECT 1 FROM revocation WHERE session = ?1";

/// The revoked sessions of a state file.
pub(super) struct RevokedSessions {
    versions: VersionReader,
    /// The expiry time of each revoked session.
    sessions: DashMap<SessionId, i64>,
    progress: RwLock<Progress>,
}

/// How far the database has been read.
#[derive(Default)]
struct Progress {
    /// The version of the database before the last update.
    version: Option<DataVersion>,
    /// The number of the last row that was read.
    last_row: i64,
}

impl RevokedSessions {
    /// Creates the cache of a state file that the connection has open.
    pub(super) fn new(path: &Path, connection: Connection) -> Self {
        Self {
            versions: VersionReader::new(path, connection),
            sessions: DashMap::new(),
            progress: RwLock::default(),
        }
    }

    /// Returns whether a session is revoked.
    pub(super) fn contains(
        &self,
        session: SessionId,
        database: &Mutex<Connection>,
    ) -> rusqlite::Result<bool> {
        let Some(version) = self.versions.current() else {
            return database.lock().prepare_cached(IS_REVOKED)?.exists([session.0.as_slice()]);
        };
        if self.progress.read().version != Some(version) {
            self.update(&database.lock(), version)?;
        }
        Ok(self.sessions.contains_key(&session))
    }

    /// Reads the sessions that were revoked since the last update. `version` was read before.
    fn update(&self, connection: &Connection, version: DataVersion) -> rusqlite::Result<()> {
        let mut progress = self.progress.write();
        let mut statement = connection.prepare_cached(NEWER)?;
        let mut rows = statement.query([progress.last_row])?;
        while let Some(row) = rows.next()? {
            self.sessions.insert(SessionId(row.get(1)?), row.get(2)?);
            progress.last_row = row.get(0)?;
        }
        progress.version = Some(version);
        Ok(())
    }

    /// Removes sessions that have expired.
    pub(super) fn remove_expired(&self, now: i64) {
        self.sessions.retain(|_, until| *until > now);
    }
}
