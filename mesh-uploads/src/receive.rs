//! Receiving of an upload. Bytes are staged while they are hashed and counted, then checked and sealed. The file
//! becomes visible after the caller has written its record.

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{Stream, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use crate::content_hash::{ContentHash, ContentHasher, StorageKey};
use crate::content_type::ContentType;
use crate::error::{BoxError, MultipartError, UploadError};
use crate::json;
use crate::multipart::{self, Part, Parts};
use crate::policy::{UploadLimits, UploadPolicy};
use crate::store::{BlobStore, Sealed, Staged, StoreError};

/// Bytes are handed to the store in blocks of about this size.
const BLOCK: usize = 256 * 1024;

/// What is known of an upload before its body is read.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveOptions<'a> {
    /// The request's `Content-Type`, which has the boundary.
    pub content_type: &'a str,
    /// The hash that the client stated, if it did.
    pub hash: Option<ContentHash>,
    /// Which files are taken.
    pub policy: &'a UploadPolicy,
    /// How much may stand around the file.
    pub bounds: UploadLimits,
}

/// Reads a body to its end and stores its file, unseen yet. Memory is constant, whatever the file's size.
///
/// The body's pace is the caller's concern: wrap a stream that may stall. When this is not awaited to its end,
/// since the client is gone for instance, what was written is removed.
pub async fn receive<S, E>(
    store: &dyn BlobStore,
    incoming: ReceiveOptions<'_>,
    body: S,
) -> Result<ReceivedUpload, UploadError>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<BoxError>,
{
    let boundary = multipart::boundary_of(incoming.content_type, &incoming.bounds)?;
    let mut body = body.map_err(Into::into).boxed();
    let (mut file, mut meta) = (None, None);
    let mut parts = Parts::new(&mut body, boundary, incoming.bounds);
    while let Some(part) = parts.next().await? {
        match part.name() {
            "file" if file.is_none() => file = Some(take_file(store, incoming.policy, part).await?),
            "meta" if meta.is_none() => meta = Some(take_meta(part, incoming.bounds.meta_bytes).await?),
            "file" => return Err(MultipartError::Twice { name: "file" }.into()),
            "meta" => return Err(MultipartError::Twice { name: "meta" }.into()),
            _ => return Err(MultipartError::Unknown { name: part.shown_name() }.into()),
        }
    }
    drop(parts);
    let Arrived { staged, hash, size, content_type } = file.ok_or(MultipartError::NoFile)?;
    multipart::finish(&mut body, &incoming.bounds).await?;
    if let Some(stated) = incoming.hash.filter(|stated| *stated != hash) {
        return Err(UploadError::HashMismatch { stated, found: hash });
    }
    let file = StoredFile { key: hash.key(), hash, size, content_type };
    let sealed = staged.seal(file.key).await?;
    Ok(ReceivedUpload { file, meta: meta.unwrap_or_else(|| "{}".to_owned()), sealed })
}

/// A file that is stored, or about to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Under which key.
    pub key: StorageKey,
    /// The hash of its bytes.
    pub hash: ContentHash,
    /// Its length in bytes.
    pub size: u64,
    /// The type that this upload declared.
    pub content_type: ContentType,
}

/// An upload whose file has passed all checks and is durable. Nobody sees the file before
/// [`ReceivedUpload::finish`].
pub struct ReceivedUpload {
    /// The file.
    pub file: StoredFile,
    /// The part `meta`, as it came: a JSON object in which no name stands twice; `{}` where there was none.
    pub meta: String,
    sealed: Box<dyn Sealed>,
}

impl ReceivedUpload {
    /// Awaits `record`, which writes the record that points to the file, and then shows the file.
    ///
    /// Run this where it is awaited to its end even when the client is gone, in a task of its own: a record
    /// may be written although nobody waits for the news. If it stops halfway all the same,
    /// [`crate::recover`] decides later what becomes of the file.
    pub async fn finish<T, E>(
        self,
        record: impl Future<Output = Result<T, RecordError<E>>>,
    ) -> Result<T, FinishError<T, E>> {
        match record.await {
            Ok(recorded) => match self.sealed.publish().await {
                Ok(()) => Ok(recorded),
                Err(error) => Err(FinishError::Store { recorded, error }),
            },
            Err(RecordError::Refused(error)) => {
                // What cannot be removed now is removed at the next start.
                let _ = self.sealed.discard().await;
                Err(FinishError::Record(error))
            }
            Err(RecordError::Unknown(error)) => Err(FinishError::Record(error)),
        }
    }

    /// Removes the file.
    pub async fn discard(self) -> Result<(), StoreError> {
        self.sealed.discard().await
    }
}

impl fmt::Debug for ReceivedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received").field("file", &self.file).field("meta", &self.meta).finish_non_exhaustive()
    }
}

/// Why there is no record, and whether that is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError<E> {
    /// Nothing was written, and nothing will be.
    Refused(E),
    /// Something failed underway, or took too long: the record may be there. The file stays, unseen, until
    /// somebody looks whether it is.
    Unknown(E),
}

/// Why a received file did not become visible.
#[derive(Debug)]
pub enum FinishError<T, E> {
    /// The record was not written.
    Record(E),
    /// The record is written, but the store failed afterwards. The bytes are safe, and [`crate::publish_if_recorded`] or
    /// [`crate::recover`] will show them.
    Store {
        /// What came of the record.
        recorded: T,
        /// What came of the file.
        error: StoreError,
    },
}

/// A file whose bytes have all come.
struct Arrived {
    staged: Box<dyn Staged>,
    hash: ContentHash,
    size: u64,
    content_type: ContentType,
}

async fn take_file(
    store: &dyn BlobStore,
    policy: &UploadPolicy,
    mut part: Part<'_>,
) -> Result<Arrived, UploadError> {
    let content_type = policy.check_type(part.content_type())?;
    let mut staged = store.stage(&content_type).await?;
    let (mut hasher, mut size) = (ContentHasher::new(), 0_u64);
    let mut block = BytesMut::new();
    while let Some(chunk) = part.chunk().await? {
        size = size.saturating_add(chunk.len() as u64);
        if size > policy.max_bytes {
            return Err(UploadError::TooLarge { limit: policy.max_bytes });
        }
        hasher.update(&chunk);
        if block.is_empty() {
            block.reserve(BLOCK);
        }
        block.extend_from_slice(&chunk);
        if block.len() >= BLOCK {
            staged.write(block.split().freeze()).await?;
        }
    }
    if !block.is_empty() {
        staged.write(block.freeze()).await?;
    }
    Ok(Arrived { staged, hash: hasher.finish(), size, content_type })
}

/// Checks that it is an object and keeps it as text: what numbers in it mean depends on their fields.
async fn take_meta(mut part: Part<'_>, limit: usize) -> Result<String, UploadError> {
    let mut text = Vec::new();
    while let Some(chunk) = part.chunk().await? {
        if text.len() + chunk.len() > limit {
            return Err(MultipartError::MetaTooLarge { limit }.into());
        }
        text.extend_from_slice(&chunk);
    }
    let refused = |message: String| UploadError::from(MultipartError::Meta { message });
    let text = String::from_utf8(text).map_err(|_| refused("it is not UTF-8".to_owned()))?;
    match json::read(text.as_bytes()) {
        Ok(Value::Object(_)) => Ok(text),
        Ok(_) => Err(refused("it is another JSON value".to_owned())),
        Err(error) => Err(refused(error.to_string())),
    }
}
