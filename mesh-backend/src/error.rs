//! Errors of opening a database.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

use mesh_integrity::TableLayoutError;

/// An error with its sources.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The error for a database that cannot be reached or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot {failed}: {}", with_causes(&**cause))]
pub struct OpenError {
    failed: String,
    cause: BoxError,
}

impl OpenError {
    /// Creates the error of a database, which is named without its password.
    pub fn new(database: impl fmt::Display, cause: impl Into<BoxError>) -> Self {
        Self { failed: format!("read the database {database}"), cause: cause.into() }
    }

    /// Creates the error of a file that state is kept in.
    pub fn of_state(file: &Path, cause: impl Into<BoxError>) -> Self {
        Self { failed: format!("keep state in {}", file.display()), cause: cause.into() }
    }

    /// Returns the faults of the error as separate messages, or its only message.
    pub fn faults(&self) -> Vec<String> {
        let faults = self.cause.downcast_ref().map(|error: &TableLayoutError| error.faults.clone());
        faults.unwrap_or_else(|| vec![self.to_string()])
    }

    /// Returns whether the state in the database was written by a newer server, in a layout that this one cannot read.
    /// A server that runs without the state would accept revoked sessions.
    pub fn is_newer_layout(&self) -> bool {
        self.cause.is::<NewerLayout>()
    }
}

/// The error for state in a newer layout, which may have changed the meaning of existing data.
#[derive(Debug, thiserror::Error)]
#[error("{tables} layout {major}, but this server reads only layouts up to {max}; use a newer server")]
pub struct NewerLayout {
    /// The beginning of the message, with a verb.
    pub tables: &'static str,
    /// The major version of the layout.
    pub major: i64,
    /// The newest version that this server reads.
    pub max: i64,
}

/// Returns a database URL for messages: without its password and parameters.
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let Some((account, host)) = authority.rsplit_once('@') else {
        return format!("{scheme}://{authority}{path}");
    };
    let user = account.split_once(':').map_or(account, |(user, _)| user);
    format!("{scheme}://{user}@{host}{path}")
}

/// Returns the message of an error followed by those of its sources, unless it ends with them.
pub fn with_causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.ends_with(&message) {
            text.extend([": ", &message]);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_removed_from_messages() {
        for (url, shown) in [
            ("postgres://ada:secret@db.example/blog?sslmode=require", "postgres://ada@db.example/blog"),
            ("postgres://ada@db/blog", "postgres://ada@db/blog"),
            ("postgres:///blog?host=/run/db&password=secret", "postgres:///blog"),
            ("postgres://db:5433", "postgres://db:5433"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
