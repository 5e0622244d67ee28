//! Removal of orphans: stored files that no record refers to.

use std::future::Future;
use std::time::Duration;

use futures_util::stream::TryStreamExt as _;

use crate::content_hash::StorageKey;
use crate::store::{BlobStore, StoreError};

/// A published file, as a listing has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// Its key.
    pub key: StorageKey,
    /// Its length in bytes.
    pub size: u64,
    /// How long it has been there, by the clock of the store.
    pub age: Duration,
}

/// What [`sweep_orphans`] found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Published files, young ones included.
    pub seen: usize,
    /// Those that no record refers to.
    pub unrecorded: Vec<StoredBlob>,
    /// How many of these were removed.
    pub removed: usize,
    /// Those of which nobody could say whether they have a record. They stay.
    pub undecided: usize,
}

/// Looks for published files of at least that age which no record refers to, as `recorded` says, and removes them if
/// told to. Uploads may go on meanwhile.
///
/// Equal bytes may come again while a file is being removed, and their record would point to nothing. So a file is
/// first put out of sight, then asked for once more: a record from before that moment is seen and the file goes
/// back, and an upload whose record is written later puts bytes of its own into the empty place.
///
/// # Errors
/// Whatever the store meets, and where it cannot be listed.
pub async fn sweep_orphans<F, Fut, E>(
    store: &dyn BlobStore,
    (min_age, remove): (Duration, bool),
    mut recorded: F,
) -> Result<SweepReport, StoreError>
where
    F: FnMut(StorageKey) -> Fut + Send,
    Fut: Future<Output = Result<bool, E>> + Send,
    E: Send,
{
    let mut swept = SweepReport::default();
    let mut listing = store.stored();
    while let Some(stored) = listing.try_next().await? {
        swept.seen += 1;
        if stored.age < min_age {
            continue;
        }
        match recorded(stored.key).await {
            Ok(true) => continue,
            Ok(false) => swept.unrecorded.push(stored),
            Err(_) => {
                swept.undecided += 1;
                continue;
            }
        }
        if !remove {
            continue;
        }
        let Some(hidden) = store.unpublish(stored.key).await? else { continue };
        if matches!(recorded(stored.key).await, Ok(false)) {
            hidden.discard().await?;
            swept.removed += 1;
        } else {
            hidden.publish().await?;
            swept.unrecorded.pop();
        }
    }
    Ok(swept)
}

#[cfg(test)]
mod tests;
