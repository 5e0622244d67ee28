//! Errors of opening a database file.

use std::error::Error;
use std::fmt;
use std::path::Path;

/// The error for a database file that cannot be opened or read.
#[derive(Debug)]
pub struct OpenError {
    path: String,
    cause: Box<dyn Error + Send + Sync>,
}

impl OpenError {
    pub(crate) fn new(path: &Path, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { path: path.display().to_string(), cause: cause.into() }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the database {}: {}", self.path, self.cause)
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}
