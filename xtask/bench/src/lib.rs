//! Shared parts of the measured servers: connections, and JSON output.

#![allow(clippy::missing_errors_doc)]

pub mod json;

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Opens a read-only connection tuned for a server: memory-mapped, with cached statements.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "mmap_size", 1i64 << 40)?;
    // Otherwise SQLite prepares statements again when bound values change.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Returns the argument after a flag.
pub fn argument(name: &str) -> Option<String> {
    let mut all = std::env::args();
    all.find(|argument| argument == name)?;
    all.next()
}
