//! Errors of opening a database.

use std::error::Error as StdError;

use mesh_integrity::{ApiKeysTableError, UsersTableError};

use crate::state::layout::NewerLayout;

/// An error with its sources.
pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

/// The error for a database that cannot be reached or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the database {database}: {cause}")]
pub struct OpenError {
    pub(crate) database: String,
    pub(crate) cause: BoxError,
}

impl OpenError {
    /// Returns the faults of the error as separate messages, or its only message.
    pub fn faults(&self) -> Vec<String> {
        let users = self.cause.downcast_ref().map(|error: &UsersTableError| &error.faults);
        let faults =
            users.or_else(|| self.cause.downcast_ref().map(|error: &ApiKeysTableError| &error.faults));
        faults.cloned().unwrap_or_else(|| vec![self.to_string()])
    }

    /// Returns whether the state in the database was written by a newer server, in a layout that this one cannot read.
    /// A server that runs without the state would accept revoked sessions.
    pub fn is_newer_layout(&self) -> bool {
        self.cause.is::<NewerLayout>()
    }
}
