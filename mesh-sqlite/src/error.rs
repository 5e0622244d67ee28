//! Errors of opening a database file.

use std::fmt;

/// A database file cannot be opened or read.
#[derive(Debug)]
pub struct OpenError {
    pub(crate) path: String,
    pub(crate) cause: Cause,
}

#[derive(Debug)]
pub(crate) enum Cause {
    Missing,
    Folder,
    Sqlite(rusqlite::Error),
    Unwritable(rusqlite::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the database {}: ", self.path)?;
        match &self.cause {
            Cause::Missing => f.write_str("there is no such file"),
            Cause::Folder => f.write_str("it is a folder"),
            Cause::Sqlite(error) => error.fmt(f),
            Cause::Unwritable(error) => write!(f, "it cannot be written to: {error}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Sqlite(error) | Cause::Unwritable(error) => Some(error),
            Cause::Missing | Cause::Folder => None,
        }
    }
}
