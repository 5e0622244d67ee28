//! Change feeds that compare versions of a database.

use std::fmt::Display;
use std::time::Duration;

use mesh_plan::{Change, Changes};

/// The interval at which versions are read.
const INTERVAL: Duration = Duration::from_millis(200);

/// Notifies `changes` that anything may have changed when the version differs from the last one. It never ends, and reads
/// versions only while there are listeners. `read` returns `None` if the version cannot be read at the moment.
pub async fn poll<V, E: Display, F: Future<Output = Result<Option<V>, E>>>(
    changes: Changes,
    mut last: Option<V>,
    read: impl Fn() -> F,
    is_same: impl Fn(&V, &V) -> bool,
) {
    let mut is_logged = false;
    loop {
        changes.wanted().await;
        match read().await {
            Ok(None) => {}
            Ok(Some(version)) => {
                is_logged = false;
                if !last.as_ref().is_some_and(|last| is_same(last, &version)) {
                    changes.notify(Change::anything());
                }
                last = Some(version);
            }
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
