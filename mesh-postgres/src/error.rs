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
        write!(f, "cannot read the database {}: {}", self.database, with_causes(&*self.cause))
    }
}

impl StdError for OpenError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

/// Returns the message of an error followed by those of its sources.
pub(crate) fn with_causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
