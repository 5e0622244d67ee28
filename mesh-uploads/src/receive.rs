//! Receiving of uploads. Bytes are staged while they are hashed and counted, then verified. They are sealed when the caller
//! writes the record, and become visible afterwards.

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{Stream, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use crate::content_hash::{ContentHash, ContentHasher, StorageKey};
use crate::content_type::ContentType;
use crate::error::{BoxError, MultipartError, StoreError, UploadError};
use crate::json;
use crate::multipart::{self, Part, Parts};
use crate::policy::{UploadLimits, UploadPolicy};
use crate::store::{BlobStore, Staged};

/// The size of the blocks that are written to the store, in bytes.
const BLOCK: usize = 256 * 1024;

/// The parameters of an upload that are known before its body is read.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveOptions<'a> {
    /// The `Content-Type` of the request, with the boundary.
    pub content_type: &'a str,
    /// The properties of the parts that the client stated.
    pub stated: StatedParts<'a>,
    /// The files that are accepted.
    pub policy: &'a UploadPolicy,
    /// Limits on the rest of the request.
    pub bounds: UploadLimits,
}

/// The properties that a client stated for the parts of a form. The parts must have them. `SPEC §9.1`
#[derive(Clone, Copy, Debug, Default)]
pub struct StatedParts<'a> {
    /// The hash of the file.
    pub hash: Option<ContentHash>,
    /// The content type of the file.
    pub content_type: Option<&'a ContentType>,
    /// The hash of the part `meta`. If it is stated, the part must exist.
    pub meta_hash: Option<ContentHash>,
    /// Whether the hash of a part `meta` must be stated.
    pub is_meta_hash_required: bool,
}

impl StatedParts<'_> {
    fn check_type(&self, found: &ContentType) -> Result<(), UploadError> {
        match self.content_type {
            Some(stated) if stated != found => {
                Err(UploadError::TypeMismatch { stated: stated.clone(), found: found.clone() })
            }
            _ => Ok(()),
        }
    }

    fn check_meta(&self, meta: Option<&str>) -> Result<(), UploadError> {
        match (self.meta_hash, meta) {
            (None, Some(_)) if self.is_meta_hash_required => {
                Err(UploadError::StatementIncomplete { name: "metaHash" })
            }
            (None, _) => Ok(()),
            (Some(stated), Some(meta)) if ContentHash::digest(meta.as_bytes()) == stated => Ok(()),
            (Some(_), _) => Err(UploadError::MetaMismatch),
        }
    }
}

/// Reads a body and stages its file. Memory use does not depend on the size of the file.
///
/// The caller limits the duration of the stream. If the future is dropped, for example because the client disconnects, the
/// written bytes are removed.
///
/// # Errors
/// [`UploadError`] if the body or the file is invalid, or the store fails. Written bytes are removed.
pub async fn receive<S, E>(
    store: &dyn BlobStore,
    options: ReceiveOptions<'_>,
    body: S,
) -> Result<ReceivedUpload, UploadError>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<BoxError>,
{
    let boundary = multipart::boundary_of(options.content_type, &options.bounds)?;
    let mut body = body.map_err(Into::into).boxed();
    let (mut file, mut meta) = (None, None);
    let mut parts = Parts::new(&mut body, boundary, options.bounds);
    while let Some(part) = parts.next().await? {
        match part.name() {
            "file" if file.is_none() => {
                let content_type = options.policy.check_type(part.content_type())?;
                options.stated.check_type(&content_type)?;
                file = Some(receive_file(store, options.policy, content_type, part).await?);
            }
            "meta" if meta.is_none() => {
                let text = receive_meta(part, options.bounds.meta_bytes).await?;
                options.stated.check_meta(Some(&text))?;
                meta = Some(text);
            }
            "file" => return Err(MultipartError::Twice { name: "file" }.into()),
            "meta" => return Err(MultipartError::Twice { name: "meta" }.into()),
            _ => return Err(MultipartError::Unknown { name: part.shown_name() }.into()),
        }
    }
    drop(parts);
    let HashedFile { staged, hash, size, content_type } = file.ok_or(MultipartError::NoFile)?;
    multipart::finish(&mut body, &options.bounds).await?;
    if let Some(stated) = options.stated.hash.filter(|stated| *stated != hash) {
        return Err(UploadError::HashMismatch { stated, found: hash });
    }
    if meta.is_none() {
        options.stated.check_meta(None)?;
    }
    let file = StoredFile { key: hash.key(), hash, size, content_type };
    Ok(ReceivedUpload { file, meta: meta.unwrap_or_else(|| "{}".to_owned()), staged })
}

/// A stored or sealed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The storage key.
    pub key: StorageKey,
    /// The hash of the file.
    pub hash: ContentHash,
    /// The size in bytes.
    pub size: u64,
    /// The content type that this upload declared.
    pub content_type: ContentType,
}

/// An upload whose file has been verified. [`ReceivedUpload::finish`] makes it durable and visible. If the value is dropped,
/// the bytes are removed.
pub struct ReceivedUpload {
    /// The file.
    pub file: StoredFile,
    /// The text of the part `meta`, a JSON object without repeated names; `{}` if the part is missing.
    pub meta: String,
    staged: Box<dyn Staged>,
}

impl ReceivedUpload {
    /// Makes the file durable, awaits `record`, which writes the record that refers to it, and then publishes it.
    ///
    /// Run this so that it completes even if the client disconnects. If it is interrupted, [`crate::recover`] publishes or
    /// removes the file later.
    ///
    /// # Errors
    /// [`FinishError`] if the file could not be made durable, the record was not written, or the file could not be published.
    pub async fn finish<T, E>(
        self,
        record: impl Future<Output = Result<T, RecordError<E>>>,
    ) -> Result<T, FinishError<T, E>> {
        let sealed = self.staged.seal(self.file.key).await.map_err(FinishError::Seal)?;
        match record.await {
            Ok(recorded) => match sealed.publish().await {
                Ok(()) => Ok(recorded),
                Err(error) => Err(FinishError::Publish { recorded, error }),
            },
            Err(RecordError::Refused(error)) => {
                // If this fails, recovery removes the file.
                let _ = sealed.discard().await;
                Err(FinishError::Record(error))
            }
            Err(RecordError::Unknown(error)) => Err(FinishError::Record(error)),
        }
    }
}

impl fmt::Debug for ReceivedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedUpload")
            .field("file", &self.file)
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}

/// The error of a record that was not written, or may not have been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError<E> {
    /// The record was not and will not be written. The file is removed.
    Refused(E),
    /// The record may have been written. The file stays sealed until recovery.
    Unknown(E),
}

/// The reason why a received file was not published.
#[derive(Debug)]
pub enum FinishError<T, E> {
    /// The file could not be made durable. The record was not written, and the file is removed.
    Seal(StoreError),
    /// The record was not written, or may not have been written.
    Record(E),
    /// The record is written, but the store failed. The file is durable; [`crate::publish_if_recorded`] or
    /// [`crate::recover`] will publish it.
    Publish {
        /// The result of writing the record.
        recorded: T,
        /// The error of the store.
        error: StoreError,
    },
}

/// A staged file with all its bytes.
struct HashedFile {
    staged: Box<dyn Staged>,
    hash: ContentHash,
    size: u64,
    content_type: ContentType,
}

async fn receive_file(
    store: &dyn BlobStore,
    policy: &UploadPolicy,
    content_type: ContentType,
    mut part: Part<'_>,
) -> Result<HashedFile, UploadError> {
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
    Ok(HashedFile { staged, hash: hasher.finish(), size, content_type })
}

/// Reads the part `meta` and checks that it is a JSON object. The result is text, because the meaning of numbers depends
/// on their fields.
async fn receive_meta(mut part: Part<'_>, limit: usize) -> Result<String, UploadError> {
    let mut text = Vec::new();
    while let Some(chunk) = part.chunk().await? {
        if text.len() + chunk.len() > limit {
            return Err(MultipartError::MetaTooLarge { limit }.into());
        }
        text.extend_from_slice(&chunk);
    }
    let refused = |message: String| UploadError::from(MultipartError::Meta { message });
    let text = String::from_utf8(text).map_err(|_| refused("it is not UTF-8".to_owned()))?;
    match json::parse(text.as_bytes()) {
        Ok(Value::Object(_)) => Ok(text),
        Ok(_) => Err(refused("it is not an object".to_owned())),
        Err(error) => Err(refused(error.to_string())),
    }
}
