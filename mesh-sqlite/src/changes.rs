//! The change feed: the version of the file, polled while there are listeners.
//!
//! SQLite reports that another connection has committed, but not what it changed. Every notice therefore states that
//! anything may have changed. This also covers changes of this process beyond the records that its writes name:
//! cascades, triggers and views.

use std::future::ready;
use std::sync::{Arc, Weak};

use mesh_backend::changes::poll;
use mesh_plan::{Changes, ResolveError};

use crate::database::current_file::{CurrentFile, OpenFile};
use crate::read::failed;

/// A file and the version of its data. Versions of different files cannot be compared.
pub(crate) type Version = (Weak<OpenFile>, i64);

/// Notifies `changes` of writes to the file since a version. It never ends, and polls only while there are listeners.
pub(crate) async fn watch(file: Arc<CurrentFile>, last: Option<Version>, changes: Changes) {
    // One check takes microseconds.
    let read = || {
        ready(match version(&file) {
            // A writer has locked the whole file, or the file is missing. The next check tries again.
            Err(ResolveError::Busy) => Ok(None),
            version => version.map(Some),
        })
    };
    poll(changes, last, read, |last, version| last.1 == version.1 && Weak::ptr_eq(&last.0, &version.0)).await;
}

/// Returns the version of the file.
pub(crate) fn version(file: &CurrentFile) -> Result<Version, ResolveError> {
    let file = file.current()?;
    let version = file.pool.versions.data_version().map_err(failed)?;
    Ok((Arc::downgrade(&file), version))
}

#[cfg(test)]
mod tests;
