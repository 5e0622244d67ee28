//! Published objects of a bucket: listing and unpublishing.

use std::sync::Arc;

use futures_util::future::ready;
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use object_store::{Error, ObjectMeta};

use super::Bucket;
use super::upload::SealedObject;
use crate::content_hash::StorageKey;
use crate::store::{Sealed, StoredBlob};

impl Bucket {
    /// Lists all published objects, with their age by the clock of the bucket.
    pub(super) fn stored(self: &Arc<Self>) -> BoxStream<'_, Result<StoredBlob, Error>> {
        let listing = async move {
            let now = self.now().await?;
            let folder = self.path("sha256");
            let entries = self.list(&folder).try_filter_map(move |entry| {
                let age = now.last_modified.signed_duration_since(entry.last_modified);
                let age = age.to_std().unwrap_or_default();
                let size = entry.size;
                ready(Ok(self.key_of(&entry).map(|key| StoredBlob { key, size, age })))
            });
            Ok::<_, Error>(entries)
        };
        futures_util::stream::once(listing).try_flatten().boxed()
    }

    /// Returns the key of a published object.
    fn key_of(&self, entry: &ObjectMeta) -> Option<StorageKey> {
        let path = entry.location.as_ref();
        let below =
            if self.prefix.is_empty() { path } else { path.strip_prefix(&self.prefix)?.strip_prefix('/')? };
        StorageKey::parse(below)
    }

    /// Turns a published object into a sealed one. Returns `None` if it does not exist. Buckets have no locks, but sealed
    /// objects are recovered only when a server starts.
    pub(super) async fn unpublish(
        self: &Arc<Self>,
        key: StorageKey,
    ) -> Result<Option<Box<dyn Sealed>>, Error> {
        let published = self.published(key);
        let Some(found) = self.info_of(&published).await? else { return Ok(None) };
        let sealed = SealedObject::new(Arc::clone(self), key, self.unique_name());
        self.copy(&published, &self.staged(&sealed.unique), found.size).await?;
        self.put_empty(&sealed.mark).await?;
        self.remove(&published).await?;
        Ok(Some(Box::new(sealed)))
    }
}
