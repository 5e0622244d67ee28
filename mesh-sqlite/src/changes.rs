//! The change feed: the version of the file, polled while there are listeners.
//!
//! SQLite reports that another connection has committed, but not what it changed. Every notice therefore states that
//! anything may have changed. This also covers changes of this process beyond the records that its writes name:
//! cascades, triggers and views.

use std::sync::{Arc, Weak};
use std::time::Duration;

use mesh_plan::{Change, Changes, ResolveError};

use crate::database::current_file::{CurrentFile, OpenFile};
use crate::read::failed;

/// The polling interval. One check takes microseconds.
const INTERVAL: Duration = Duration::from_millis(200);

/// A file and the version of its data. Versions of different files cannot be compared.
pub(crate) type Version = (Weak<OpenFile>, i64);

/// Notifies `changes` of writes to the file since a version. It never ends, and polls only while there are listeners.
pub(crate) async fn watch(file: Arc<CurrentFile>, mut last: Option<Version>, changes: Changes) {
    let mut is_logged = false;
    loop {
        changes.wanted().await;
        match version(&file) {
            Ok(version) => {
                is_logged = false;
                let is_same = |last: &Version| last.1 == version.1 && Weak::ptr_eq(&last.0, &version.0);
                if !last.as_ref().is_some_and(is_same) {
                    changes.notify(Change::anything());
                }
                last = Some(version);
            }
            // A writer has locked the whole file, or the file is missing. The next check tries again.
            Err(ResolveError::Busy) => {}
            Err(error) => {
                // Logged once until the next success.
                if !std::mem::replace(&mut is_logged, true) {
                    tracing::warn!("cannot check the database for changes: {error}");
                }
                last = None;
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns the version of the file.
pub(crate) fn version(file: &CurrentFile) -> Result<Version, ResolveError> {
    let file = file.current()?;
    let version = file.pool.versions.data_version().map_err(failed)?;
    Ok((Arc::downgrade(&file), version))
}

#[cfg(test)]
mod tests;
