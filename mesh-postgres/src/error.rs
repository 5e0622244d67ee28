//! Errors of opening a database.

use std::error::Error as StdError;
use std::fmt;

/// A database cannot be reached or read.
#[derive(Debug)]
pub struct OpenError {
    pub(crate) database: String,
    pub(crate) cause: Box<dyn StdError + Send + Sync>,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the database {}: {}", self.database, self.cause)?;
        let mut source = self.cause.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl StdError for OpenError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}
