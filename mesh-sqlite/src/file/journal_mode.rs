//! The switch to WAL mode.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Result};

/// The pause before another attempt.
const RETRY: Duration = Duration::from_millis(5);

/// Switches a file to WAL mode, and returns the mode that it has then. SQLite does not wait for another connection that does
/// the same, so this function tries again until `timeout` has passed.
pub(crate) fn switch_to_wal(connection: &Connection, timeout: Duration) -> Result<String> {
    let end = Instant::now() + timeout;
    loop {
        let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match mode {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < end =>
            {
                thread::sleep(RETRY);
            }
            mode => return mode,
        }
    }
}
