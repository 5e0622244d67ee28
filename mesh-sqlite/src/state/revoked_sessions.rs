//! A cache of revoked sessions, which is updated when the database has changed.
//!
//! Every request needs the check, so it is answered from memory. The version of the database shows, without a system call,
//! whether a process has committed something since the last update. Only then are new sessions read from the database.

use std::collections::HashMap;
use std::path::Path;

use mesh_integrity::SessionId;
use parking_lot::{Mutex, RwLock};
use rusqlite::Connection;

use crate::file::data_version::{DataVersion, VersionReader};

const NEWER: &str = "SELECT number, session, until FROM revocation WHERE number > ?1 ORDER BY number";
const IS_REVOKED: &str = "SELECT 1 FROM revocation WHERE session = ?1";

/// The revoked sessions of a state file.
pub(super) struct RevokedSessions {
    versions: VersionReader,
    known: RwLock<Known>,
}

/// The sessions that have been read from the database.
#[derive(Default)]
struct Known {
    /// The version of the database before the last update.
    version: Option<DataVersion>,
    /// The number of the last row that was read.
    last_row: i64,
    /// The expiry time of each revoked session.
    sessions: HashMap<SessionId, i64>,
}

impl RevokedSessions {
    /// Creates the cache of a state file that the connection has open.
    pub(super) fn new(path: &Path, connection: Connection) -> Self {
        Self { versions: VersionReader::new(path, connection), known: RwLock::default() }
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
        let known = self.known.read();
        if known.version == Some(version) {
            return Ok(known.sessions.contains_key(&session));
        }
        drop(known);
        let mut known = self.known.write();
        known.update(&database.lock(), version)?;
        Ok(known.sessions.contains_key(&session))
    }

    /// Removes sessions that have expired.
    pub(super) fn remove_expired(&self, now: i64) {
        self.known.write().sessions.retain(|_, until| *until > now);
    }
}

impl Known {
    /// Reads the sessions that were revoked since the last update. `version` was read before.
    fn update(&mut self, connection: &Connection, version: DataVersion) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(NEWER)?;
        let mut rows = statement.query([self.last_row])?;
        while let Some(row) = rows.next()? {
            self.sessions.insert(SessionId(row.get(1)?), row.get(2)?);
            self.last_row = row.get(0)?;
        }
        self.version = Some(version);
        Ok(())
    }
}
