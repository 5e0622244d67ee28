//! Uploads to a bucket: objects that are being sent, and complete objects that are not published yet.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use object_store::path::Path;
use object_store::{Attributes, Error, MultipartUpload};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use super::requests::{failed, with_timeout};
use super::{BLOCK, Bucket};
use crate::content_hash::StorageKey;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Sealed, Staged, StoreFuture};

/// The size of a part in bytes. An upload holds up to three parts in memory. The protocol allows 10,000 parts, which
/// limits a file to 80 GB; some services can copy objects of at most 5 GB.
const PART: usize = 8 * 1024 * 1024;

/// An object whose bytes are being sent.
pub(super) struct StagedObject {
    pub(super) bucket: Arc<Bucket>,
    pub(super) unique: String,
    pub(super) attributes: Attributes,
    /// The number of bytes that were written.
    pub(super) size: u64,
    /// Bytes that do not fill a part yet.
    pub(super) part: BytesMut,
    /// The permits for the bytes in `part`.
    pub(super) permits: Option<OwnedSemaphorePermit>,
    /// `None` until the first part is full, and again after the upload is complete.
    pub(super) upload: Option<Box<dyn MultipartUpload>>,
    /// The part that is being sent while the next one is received.
    pub(super) sending: Option<JoinHandle<Result<(), Error>>>,
}

impl StagedObject {
    /// Acquires permits for bytes that are kept until they are sent. Blocks are counted for the whole part, because bytes may
    /// arrive in pieces that are much smaller than a block.
    fn acquire_permits(&mut self, bytes: &Bytes) -> Result<(), StoreError> {
        let acquired = self.permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let blocks = self.part.len().saturating_add(bytes.len()).div_ceil(BLOCK).saturating_sub(acquired);
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        let permits = Arc::clone(&self.bucket.blocks).try_acquire_many_owned(blocks).map_err(|error| {
            StoreError::new("hold the parts of all unfinished files", error).with_kind(StoreErrorKind::Busy)
        })?;
        match &mut self.permits {
            Some(existing) => existing.merge(permits),
            none => *none = Some(permits),
        }
        Ok(())
    }

    async fn finish_sending(&mut self) -> Result<(), StoreError> {
        match self.sending.take() {
            Some(sending) => sending.await.unwrap_or_else(|error| Err(error.into())).map_err(writing),
            None => Ok(()),
        }
    }

    async fn send(&mut self) -> Result<(), StoreError> {
        self.finish_sending().await?;
        let path = self.bucket.staged(&self.unique);
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => {
                let parts = self.bucket.put_parts(&path, self.attributes.clone()).await;
                none.insert(parts.map_err(writing)?)
            }
        };
        let part = upload.put_part(self.part.split().freeze().into());
        let (limit, permits) = (self.bucket.timeout, self.permits.take());
        self.sending = Some(tokio::spawn(async move {
            let _permits = permits;
            with_timeout(limit, part).await
        }));
        Ok(())
    }

    async fn complete(&mut self) -> Result<(), StoreError> {
        if self.upload.is_none() {
            let path = self.bucket.staged(&self.unique);
            let bytes = self.part.split().freeze();
            return self.bucket.put(&path, bytes, self.attributes.clone()).await.map_err(writing);
        }
        if !self.part.is_empty() {
            self.send().await?;
        }
        self.finish_sending().await?;
        if let Some(upload) = &mut self.upload {
            self.bucket.complete(&mut **upload, self.size).await.map_err(writing)?;
        }
        self.upload = None;
        Ok(())
    }
}

impl Staged for StagedObject {
    fn write(&mut self, bytes: Bytes) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.acquire_permits(&bytes)?;
            self.size = self.size.saturating_add(bytes.len() as u64);
            self.part.extend_from_slice(&bytes);
            if self.part.len() >= PART { self.send().await } else { Ok(()) }
        })
    }

    fn seal(mut self: Box<Self>, key: StorageKey) -> StoreFuture<'static, Box<dyn Sealed>> {
        Box::pin(async move {
            self.complete().await?;
            let sealed = SealedObject::new(Arc::clone(&self.bucket), key, self.unique.clone());
            match sealed.bucket.put_empty(&sealed.mark).await {
                Ok(()) => Ok(Box::new(sealed) as Box<dyn Sealed>),
                Err(error) => {
                    // If this fails too, recovery removes the object when it is stale.
                    let _ = sealed.bucket.remove(&sealed.bucket.staged(&sealed.unique)).await;
                    Err(failed("seal a file")(error))
                }
            }
        })
    }
}

/// Aborts an unfinished upload, because its parts take up space that no listing shows.
impl Drop for StagedObject {
    fn drop(&mut self) {
        if let (Some(mut upload), Ok(runtime)) = (self.upload.take(), tokio::runtime::Handle::try_current()) {
            let (sending, limit) = (self.sending.take(), self.bucket.timeout);
            runtime.spawn(async move {
                if let Some(sending) = sending {
                    let _ = sending.await;
                }
                let _ = with_timeout(limit, upload.abort()).await;
            });
        }
    }
}

/// A complete object that is not published yet.
pub(super) struct SealedObject {
    pub(super) bucket: Arc<Bucket>,
    pub(super) key: StorageKey,
    pub(super) unique: String,
    /// The path of the empty object that marks it as complete.
    pub(super) mark: Path,
}

impl SealedObject {
    pub(super) fn new(bucket: Arc<Bucket>, key: StorageKey, unique: String) -> Self {
        let mark = bucket.mark(key, &unique);
        Self { bucket, key, unique, mark }
    }
}

impl Sealed for SealedObject {
    fn key(&self) -> StorageKey {
        self.key
    }

    fn publish(self: Box<Self>) -> StoreFuture<'static, ()> {
        Box::pin(async move {
            let published = self.bucket.publish(self.key, &self.unique, &self.mark).await;
            published.map_err(failed("publish a file"))
        })
    }

    fn discard(self: Box<Self>) -> StoreFuture<'static, ()> {
        Box::pin(
            async move { self.bucket.clear(&self.unique, &self.mark).await.map_err(failed("remove a file")) },
        )
    }
}

fn writing(error: Error) -> StoreError {
    failed("write a file")(error)
}
