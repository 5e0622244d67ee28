//! The trait of blob stores, and the operations that all stores share.
//!
//! A file has three states. *Staged*: bytes are being written. *Sealed*: all bytes are verified and durable, under a name
//! that contains the key. *Published*: visible under the key. The record is written between sealing and publishing, so a
//! crash leaves either a staged file, which is removed, or a sealed one, which [`recover`] publishes if it has a record.

mod file;
mod orphans;
#[cfg(feature = "s3")]
mod s3;

use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};

pub use file::FileStore;
pub use orphans::{StoredBlob, SweepReport, sweep_orphans};
#[cfg(feature = "s3")]
pub use s3::{S3Options, S3Store};

use crate::content_hash::StorageKey;
use crate::content_type::ContentType;
use crate::error::StoreError;

/// The future of an operation of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A store of files that are addressed by their hash.
pub trait BlobStore: Send + Sync + fmt::Debug + 'static {
    /// Begins a file. If it is dropped before it is sealed, its bytes are removed.
    fn stage<'a>(&'a self, content_type: &'a ContentType) -> StoreFuture<'a, Box<dyn Staged>>;

    /// Returns information about the file that is published under the key.
    fn find(&self, key: StorageKey) -> StoreFuture<'_, Option<BlobInfo>>;

    /// Opens the file that is published under the key, or a range of its bytes.
    fn open(&self, key: StorageKey, range: Option<Range<u64>>) -> StoreFuture<'_, Option<Blob>>;

    /// Returns a temporary URL from which clients can download the file directly, if the store supports this. The URL is
    /// valid for one method. The default is `None`.
    fn presigned_url(&self, key: StorageKey, method: LinkMethod) -> StoreFuture<'_, Option<String>> {
        let _ = (key, method);
        Box::pin(async { Ok(None) })
    }

    /// Finds a file that is sealed for the key, possibly by another task or process. The caller may publish it, but must
    /// not discard it.
    fn find_sealed(&self, key: StorageKey) -> StoreFuture<'_, Option<Box<dyn Sealed>>>;

    /// Removes staged files whose process has ended, and returns sealed files whose process has ended.
    fn abandoned(&self) -> StoreFuture<'_, Vec<Box<dyn Sealed>>>;

    /// Lists all published files in any order. The default is an error.
    fn list(&self) -> BoxStream<'_, Result<StoredBlob, StoreError>> {
        stream::iter([Err(StoreError::new("list its files", "this kind of store does not support it"))])
            .boxed()
    }

    /// Turns a published file into a sealed one. Returns `None` if the file does not exist or is being published. The
    /// default is an error.
    fn unpublish(&self, key: StorageKey) -> StoreFuture<'_, Option<Box<dyn Sealed>>> {
        let _ = key;
        Box::pin(async { Err(StoreError::new("unpublish a file", "this kind of store does not support it")) })
    }
}

/// A file that is being written.
pub trait Staged: Send {
    /// Appends bytes. It may return before they are written, in which case a later call returns the error.
    fn write(&mut self, bytes: Bytes) -> StoreFuture<'_, ()>;

    /// Makes the bytes durable, under a name that contains key and content type.
    fn seal(self: Box<Self>, key: StorageKey) -> StoreFuture<'static, Box<dyn Sealed>>;
}

/// A complete file that is not published. If it is dropped, it stays for [`recover`].
pub trait Sealed: Send {
    /// Returns the key of the file.
    fn key(&self) -> StorageKey;

    /// Publishes the file under its key. If equal bytes are published already, only their content type is updated.
    fn publish(self: Box<Self>) -> StoreFuture<'static, ()>;

    /// Removes the file.
    fn discard(self: Box<Self>) -> StoreFuture<'static, ()>;
}

/// The method that a temporary URL is valid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMethod {
    /// `GET`, which returns the bytes of a file.
    Get,
    /// `HEAD`, which returns the headers only.
    Head,
}

/// Information about a published file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobInfo {
    /// The size in bytes.
    pub size: u64,
    /// The content type that the last upload of these bytes declared.
    pub content_type: ContentType,
}

/// A published file, opened.
pub struct Blob {
    /// Information about the whole file.
    pub info: BlobInfo,
    /// The requested bytes.
    pub bytes: BoxStream<'static, io::Result<Bytes>>,
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blob").field("info", &self.info).finish_non_exhaustive()
    }
}

/// The result of [`recover`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The number of sealed files with a record, which were published.
    pub published: usize,
    /// The number of sealed files without a record, which were removed.
    pub discarded: usize,
    /// The number of sealed files that remain because their record could not be looked up.
    pub undecided: usize,
}

/// Cleans up after a crash. Staged files are removed; sealed files are published if `recorded` returns that a record refers
/// to the key, else removed. Call it when a program starts. `SPEC §9.4`
///
/// # Errors
/// [`StoreError`] if the store fails.
pub async fn recover<F, Fut, E>(store: &dyn BlobStore, mut recorded: F) -> Result<RecoveryReport, StoreError>
where
    F: FnMut(StorageKey) -> Fut + Send,
    Fut: Future<Output = Result<bool, E>> + Send,
    E: Send,
{
    let mut done = RecoveryReport::default();
    for sealed in store.abandoned().await? {
        match recorded(sealed.key()).await {
            Ok(true) => {
                sealed.publish().await?;
                done.published += 1;
            }
            Ok(false) => {
                sealed.discard().await?;
                done.discarded += 1;
            }
            Err(_) => done.undecided += 1,
        }
    }
    Ok(done)
}

/// Publishes the file that is sealed for a key if `recorded` returns that a record refers to it. It is for readers of a
/// record whose file is not published yet. Returns whether it published a file.
///
/// # Errors
/// [`StoreError`] if the store fails.
pub async fn publish_if_recorded<E: Send>(
    store: &dyn BlobStore,
    key: StorageKey,
    recorded: impl Future<Output = Result<bool, E>> + Send,
) -> Result<bool, StoreError> {
    let Some(sealed) = store.find_sealed(key).await? else { return Ok(false) };
    if !matches!(recorded.await, Ok(true)) {
        return Ok(false);
    }
    sealed.publish().await?;
    Ok(true)
}
