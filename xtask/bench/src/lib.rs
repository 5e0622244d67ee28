//! What do the measured servers share? How a connection is opened, and JSON text by hand.

#![allow(clippy::missing_errors_doc)]

pub mod json;

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// A connection for reading, tuned as for a server: mapped into memory, statements kept.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "mmap_size", 1i64 << 40)?;
    // Otherwise SQLite looks at bound values when it plans, and plans again whenever they change.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// The argument after a flag.
pub fn argument(name: &str) -> Option<String> {
    let mut all = std::env::args();
    all.find(|argument| argument == name)?;
    all.next()
}
