//! Removal of orphans: stored files that no record references.

use std::future::Future;
use std::time::Duration;

use futures_util::stream::TryStreamExt as _;

use crate::content_hash::StorageKey;
use crate::error::StoreError;
use crate::store::BlobStore;

/// A published file in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// The storage key.
    pub key: StorageKey,
    /// The size in bytes.
    pub size: u64,
    /// The time since it was published, by the clock of the store.
    pub age: Duration,
}

/// The result of [`sweep_orphans`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// The number of published files, including young ones.
    pub seen: usize,
    /// The files without a record.
    pub unrecorded: Vec<StoredBlob>,
    /// The number of these that were removed.
    pub removed: usize,
    /// The number of files that remain because their record could not be looked up.
    pub undecided: usize,
}

/// Finds published files that are at least `min_age` old and that no record refers to according to `recorded`, and removes
/// them if `remove` is set. Concurrent uploads are safe.
///
/// An upload of equal bytes may write its record while the file is being removed. Therefore the file is first unpublished,
/// and its record is looked up again. If there is a record, the file is published again. A record that is written later
/// belongs to an upload that publishes its bytes itself.
///
/// # Errors
/// [`StoreError`] if the store fails or cannot list its files.
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
    let mut listing = store.list();
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
