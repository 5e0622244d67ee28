//! The connection for writes to one file.

use std::path::Path;
use std::time::{Duration, Instant};

use mesh_plan::ResolveError;
use mesh_plan::backend::{LocalCache, PlanId};
use mesh_sql::sqlite::Statements;
use rusqlite::ffi;

use crate::file::FileIdentity;
use crate::file::journal_mode::switch_to_wal;
use crate::pool::interrupt::Budget;
use crate::pool::{self, OPEN_TIMEOUT, Reader};
use crate::read::failed;
use crate::tables::open_for_writing;

/// The number of prepared statements that the connection caches.
const STATEMENTS: usize = 256;
/// The number of reply plans whose statements the connection caches.
const REPLIES: usize = 64;
/// The time limit for waiting for other processes when the log is emptied.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The connection for writes to one file.
pub(super) struct WriteConnection {
    file: FileIdentity,
    /// Whether the file is mapped into memory.
    is_mapped: bool,
    /// The connection, which also reads what it has written.
    pub(super) reader: Reader,
    /// The statements of light replies by their plans.
    pub(super) replies: LocalCache<PlanId, Statements>,
    /// Whether records that are alike are created together.
    pub(super) creates_many: bool,
}

impl WriteConnection {
    pub(super) fn open(path: &Path, is_mapped: bool) -> rusqlite::Result<Self> {
        let mut file = FileIdentity::new(path);
        let connection = open_for_writing(path)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "foreign_keys", true)?;
        pool::map_file(&connection, is_mapped)?;
        // SQLite opens a read-only file without an error. Without this check, the first write would fail.
        if connection.is_readonly(rusqlite::MAIN_DB)? {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None));
        }
        connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
        let mode = switch_to_wal(&connection, OPEN_TIMEOUT);
        if !mode.as_ref().is_ok_and(|mode| mode.eq_ignore_ascii_case("wal")) {
            tracing::warn!("the database could not be switched to WAL mode: reads wait for each commit");
        }
        // This records the identity of the log, which exists since the mode was changed.
        file.is_current();
        let reader = Reader::new(connection)?;
        let replies = LocalCache::bounded(REPLIES, REPLIES);
        Ok(Self { file, is_mapped, reader, replies, creates_many: true })
    }

    /// Opens the file at the path if the open one was replaced. Writes to a file without a name would be lost.
    pub(super) fn reopen_if_replaced(&mut self) -> Result<(), ResolveError> {
        if self.file.is_current() {
            return Ok(());
        }
        self.empty_log();
        self.file.check_successor().map_err(|_| ResolveError::Busy)?;
        *self = Self::open(self.file.path(), self.is_mapped).map_err(failed)?;
        tracing::warn!(
            "the database at {} was replaced; writing to the new file",
            self.file.path().display()
        );
        Ok(())
    }

    /// Moves the contents of the log into the file, which is then complete without the log.
    pub(super) fn empty_log(&self) {
        let Reader { connection, interrupt, .. } = &self.reader;
        interrupt.begin(Budget::default());
        let _ = connection.busy_timeout(CLOSE_TIMEOUT);
        if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!("the write-ahead log could not be written back to the database: {error}");
        }
    }

    /// Begins a transaction in the file that is at the path.
    pub(super) fn begin_transaction(&mut self, deadline: Instant) -> Result<(), ResolveError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ResolveError::Busy);
        }
        self.reopen_if_replaced()?;
        // Repeats a rollback that has failed.
        self.rollback_transaction();
        self.reader.interrupt.begin(Budget::until(deadline));
        self.reader.connection.busy_timeout(left).map_err(failed)?;
        self.command("BEGIN IMMEDIATE").map_err(failed)
    }

    /// Returns whether no transaction is open: it was committed, or an error has rolled it back.
    pub(super) fn has_ended(&self) -> bool {
        self.reader.connection.is_autocommit()
    }

    /// Rolls back the transaction, unless it has ended.
    pub(super) fn rollback_transaction(&self) {
        if !self.has_ended() {
            self.reader.interrupt.begin(Budget::default());
            let _ = self.command("ROLLBACK");
        }
    }

    /// Executes a statement without parameters and rows.
    pub(super) fn command(&self, sql: &str) -> rusqlite::Result<()> {
        self.reader.connection.prepare_cached(sql)?.raw_execute().map(drop)
    }
}

/// Empties the log, which read-only connections that are closed later cannot do.
impl Drop for WriteConnection {
    fn drop(&mut self) {
        self.empty_log();
    }
}
