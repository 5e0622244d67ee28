//! Errors of opening a file.

use std::path::Path;

use mesh_backend::error::BoxError;
pub use mesh_backend::error::OpenError;

/// Adds the path of a database to the cause of a failure, unless the cause names a file.
pub(crate) fn open_error(path: &Path, cause: impl Into<BoxError>) -> OpenError {
    match cause.into().downcast() {
        Ok(error) => *error,
        Err(cause) => OpenError::new(path.display(), without_code(cause)),
    }
}

/// Removes the number of an error of SQLite, which says less than its message.
pub(crate) fn without_code(cause: BoxError) -> BoxError {
    match cause.downcast::<rusqlite::Error>() {
        Ok(error) => error.to_string().into(),
        Err(cause) => cause,
    }
}
