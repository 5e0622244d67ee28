//! The trait of blob stores, and the operations that all stores share.
//!
//! A file goes through three states. *Staged*: bytes are being written, nobody can see them. *Sealed*: all bytes
//! are there, checked and durable under a name that has the key in it, still unseen. *Published*: seen under the
//! key. The record is written between sealing and publishing, so a crash at any moment leaves either nothing
//! that counts, or a sealed file, of which the record tells whether it is to be published ([`recover`]).

mod file;
mod orphans;
#[cfg(feature = "s3")]
mod s3;

use std::error::Error;
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
use crate::error::BoxError;

/// A place for files, by the hash of their bytes.
pub trait BlobStore: Send + Sync + fmt::Debug + 'static {
    /// Begins a file. What it has written is removed when it is dropped before it is sealed.
    fn stage<'a>(
        &'a self,
        content_type: &'a ContentType,
    ) -> BoxFuture<'a, Result<Box<dyn Staged>, StoreError>>;

    /// What is published under the key.
    fn find(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<BlobInfo>, StoreError>>;

    /// The bytes that are published under the key, all or some of them.
    fn open(
        &self,
        key: StorageKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'_, Result<Option<Blob>, StoreError>>;

    /// Where else clients can get the bytes, for a time, without passing through this program. The default
    /// is nowhere.
    fn location(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        let _ = key;
        Box::pin(async { Ok(None) })
    }

    /// A file sealed for that key and not yet published, also one that another task or process has at hand.
    /// It may be published, but not discarded.
    fn sealed(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<Box<dyn Sealed>>, StoreError>>;

    /// Removes staged files whose process is gone, and gives the sealed ones whose process is gone.
    fn abandoned(&self) -> BoxFuture<'_, Result<Vec<Box<dyn Sealed>>, StoreError>>;

    /// All that is published, in no order. The default is that it cannot be told.
    fn stored(&self) -> BoxStream<'_, Result<StoredBlob, StoreError>> {
        stream::iter([Err(StoreError::new("list its files", "this kind of store cannot"))]).boxed()
    }

    /// Takes a published file back out of sight, so that it is sealed again; none if it is gone, or is being
    /// published at the moment. The default is that this cannot be done.
    fn unpublish(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<Box<dyn Sealed>>, StoreError>> {
        let _ = key;
        Box::pin(async { Err(StoreError::new("put a file out of sight", "this kind of store cannot")) })
    }
}

/// A file that is being written.
pub trait Staged: Send {
    /// Appends bytes. It may return before they are written, and then a later call tells of a failure.
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Makes the bytes durable, under a name from which key and type can be read again.
    fn seal(self: Box<Self>, key: StorageKey) -> BoxFuture<'static, Result<Box<dyn Sealed>, StoreError>>;
}

/// A whole file that nobody sees yet. Dropping it leaves it for [`recover`].
pub trait Sealed: Send {
    /// The key under which it is going to be seen.
    fn key(&self) -> StorageKey;

    /// Shows it under its key. Where equal bytes are published already, those stay and only their type is
    /// renewed.
    fn publish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Removes it.
    fn discard(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>>;
}

/// What is known of a published file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobInfo {
    /// Its length in bytes.
    pub size: u64,
    /// The type that was declared when these bytes came last.
    pub content_type: ContentType,
}

/// A published file, opened.
pub struct Blob {
    /// What is known of the whole file.
    pub info: BlobInfo,
    /// The bytes that were asked for.
    pub bytes: BoxStream<'static, io::Result<Bytes>>,
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blob").field("info", &self.info).finish_non_exhaustive()
    }
}

/// What [`recover`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Sealed files with a record, now published.
    pub published: usize,
    /// Sealed files without one, now removed.
    pub discarded: usize,
    /// Sealed files of which nobody could say whether they have a record. They stay.
    pub undecided: usize,
}

/// Clears what a crash has left, to be called when a program starts: staged files are removed, and sealed ones
/// published if `recorded` says that a record points to the key, else removed. `SPEC §9.4`
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

/// Publishes the file that is sealed for a key, if `recorded` says that a record points to it: for a reader
/// who knows the key from a record that is newer than the publishing. Says whether there is such a file.
pub async fn publish_if_recorded<E: Send>(
    store: &dyn BlobStore,
    key: StorageKey,
    recorded: impl Future<Output = Result<bool, E>> + Send,
) -> Result<bool, StoreError> {
    let Some(sealed) = store.sealed(key).await? else { return Ok(false) };
    if !matches!(recorded.await, Ok(true)) {
        return Ok(false);
    }
    sealed.publish().await?;
    Ok(true)
}

/// A failure of a store, for a log: it may tell of paths and addresses.
#[derive(Debug)]
pub struct StoreError {
    /// What was to be done.
    pub doing: &'static str,
    /// What came of it.
    pub source: BoxError,
}

impl StoreError {
    /// A failure while doing that.
    pub fn new(doing: &'static str, source: impl Into<BoxError>) -> Self {
        Self { doing, source: source.into() }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The file store failed to {}", self.doing)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}
