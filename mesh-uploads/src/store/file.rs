//! The blob store in a local folder, in which a crash leaves no partial file visible.
//!
//! Published files are `sha256/<2>/<62>` under the root and contain plain bytes. A file `<62>.type` next to each contains
//! its content type, unless the type is unknown. Pending files are in `pending/`, in the same file system: `<unique>.part`
//! while bytes are written, `<hash>.<unique>.<type>` once sealed. A process holds a lock on each of its pending files. The
//! system releases it when the process ends, so that other processes can distinguish active from abandoned files.

mod pending;
mod published;
mod read_stream;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use tokio::task::JoinHandle;

use self::pending::Pending;
use crate::content_hash::StorageKey;
use crate::content_type::ContentType;
use crate::error::StoreError;
use crate::store::{Blob, BlobInfo, BlobStore, Sealed, Staged, StoreFuture, StoredBlob};

/// The number of names that are tried for a staged file.
const ATTEMPTS: usize = 1000;

/// A store in a local folder. It requires a tokio runtime and performs I/O on its blocking threads.
#[derive(Clone, Debug)]
pub struct FileStore(Arc<Folders>);

#[derive(Debug)]
struct Folders {
    root: PathBuf,
    pending: PathBuf,
    next: AtomicU64,
}

impl FileStore {
    /// Opens a store in a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// An I/O error if the folder cannot be created.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        let pending = root.join("pending");
        for folder in [&root, &pending, &root.join("sha256")] {
            fs::create_dir_all(folder)?;
        }
        sync_folder(&root)?;
        Ok(Self(Arc::new(Folders { root, pending, next: AtomicU64::new(0) })))
    }
}

impl BlobStore for FileStore {
    fn stage<'a>(&'a self, content_type: &'a ContentType) -> StoreFuture<'a, Box<dyn Staged>> {
        let (folders, content_type) = (Arc::clone(&self.0), content_type.clone());
        Box::pin(blocking("begin a file", move || {
            let (file, unique) = folders.create_part()?;
            let file = Some(Arc::new(file));
            Ok(Box::new(StagedFile { folders, unique, content_type, file, writing: None }) as Box<dyn Staged>)
        }))
    }

    fn find(&self, key: StorageKey) -> StoreFuture<'_, Option<BlobInfo>> {
        let folders = Arc::clone(&self.0);
        Box::pin(blocking("look for a file", move || {
            let Some(found) = regular(&folders.path_of(key))? else { return Ok(None) };
            let content_type = folders.type_of(key)?;
            Ok(Some(BlobInfo { size: found.len(), content_type }))
        }))
    }

    fn open(&self, key: StorageKey, range: Option<Range<u64>>) -> StoreFuture<'_, Option<Blob>> {
        let folders = Arc::clone(&self.0);
        Box::pin(blocking("open a file", move || {
            let path = folders.path_of(key);
            if regular(&path)?.is_none() {
                return Ok(None);
            }
            let Some(file) = present(File::open(path))? else { return Ok(None) };
            let size = file.metadata()?.len();
            let info = BlobInfo { size, content_type: folders.type_of(key)? };
            let bytes = read_stream::bytes(file, range.unwrap_or(0..size))?;
            Ok(Some(Blob { info, bytes }))
        }))
    }

    fn find_sealed(&self, key: StorageKey) -> StoreFuture<'_, Option<Box<dyn Sealed>>> {
        let folders = Arc::clone(&self.0);
        Box::pin(blocking("look for a sealed file", move || {
            for entry in fs::read_dir(&folders.pending)? {
                let path = entry?.path();
                if let Some(Pending::Sealed { key: found, content_type }) = Pending::parse(&path)
                    && found == key
                {
                    let sealed = SealedFile { folders, path, key, content_type, _lock: None };
                    return Ok(Some(Box::new(sealed) as Box<dyn Sealed>));
                }
            }
            Ok(None)
        }))
    }

    fn abandoned(&self) -> StoreFuture<'_, Vec<Box<dyn Sealed>>> {
        let folders = Arc::clone(&self.0);
        Box::pin(blocking("remove abandoned files", move || folders.abandoned()))
    }

    fn list(&self) -> BoxStream<'_, Result<StoredBlob, StoreError>> {
        let group = |group: String| {
            let folders = Arc::clone(&self.0);
            blocking("list files", move || folders.stored(&group))
        };
        let groups = stream::iter(Folders::groups()).then(group);
        groups.map_ok(|group| stream::iter(group.into_iter().map(Ok))).try_flatten().boxed()
    }

    fn unpublish(&self, key: StorageKey) -> StoreFuture<'_, Option<Box<dyn Sealed>>> {
        let folders = Arc::clone(&self.0);
        Box::pin(blocking("unpublish a file", move || folders.unpublish(key)))
    }
}

impl Folders {
    fn path_of(&self, key: StorageKey) -> PathBuf {
        // The path stays below the root, because a key consists of a constant prefix, slashes and hex digits.
        self.root.join(key.to_string())
    }

    fn type_path_of(&self, key: StorageKey) -> PathBuf {
        self.root.join(format!("{key}.type"))
    }

    fn type_of(&self, key: StorageKey) -> io::Result<ContentType> {
        let text = present(fs::read_to_string(self.type_path_of(key)))?;
        Ok(text.as_deref().and_then(ContentType::parse).unwrap_or_else(ContentType::unknown))
    }

    /// Returns a name that is unique among the processes of this system.
    fn unique_name(&self) -> String {
        format!("{}-{}", std::process::id(), self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Creates and locks a new file. If another process removes the file as abandoned before it is locked, another name is
    /// used.
    fn create_part(&self) -> io::Result<(File, String)> {
        for _ in 0..ATTEMPTS {
            let unique = self.unique_name();
            let path = Pending::part_path(&self.pending, &unique);
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            match file.try_lock() {
                Ok(()) if path.try_exists()? => return Ok((file, unique)),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                // Without locks, processes that share the folder must not remove abandoned files.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok((file, unique));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("no free name for a temporary file"))
    }

    fn abandoned(self: &Arc<Self>) -> io::Result<Vec<Box<dyn Sealed>>> {
        let mut left: Vec<Box<dyn Sealed>> = Vec::new();
        for entry in fs::read_dir(&self.pending)? {
            let path = entry?.path();
            let Some(pending) = Pending::parse(&path) else { continue };
            let Some(file) = present(File::open(&path))? else { continue };
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                continue;
            }
            match pending {
                Pending::Part => remove(&path)?,
                Pending::Sealed { key, content_type } => {
                    let folders = Arc::clone(self);
                    let lock = Some(Arc::new(file));
                    left.push(Box::new(SealedFile { folders, path, key, content_type, _lock: lock }));
                }
            }
        }
        Ok(left)
    }

    /// Moves a sealed file to its published path.
    fn publish(&self, sealed: &Path, key: StorageKey, content_type: &ContentType) -> io::Result<()> {
        let path = self.path_of(key);
        let folder = path.parent().unwrap_or(&self.root);
        if present(fs::metadata(folder))?.is_none() {
            fs::create_dir_all(folder)?;
            sync_folder(&self.root.join("sha256"))?;
        }
        let Some(ours) = present(fs::metadata(sealed))? else {
            return self.published_by_another(&path);
        };
        if self.type_of(key)? != *content_type {
            self.write_type(key, content_type)?;
        }
        // A published file of the same length has the same bytes. If the length differs, it is damaged and replaced.
        if regular(&path)?.is_some_and(|theirs| theirs.len() == ours.len()) {
            return remove(sealed);
        }
        match fs::rename(sealed, &path) {
            Ok(()) => {
                sync_folder(folder)?;
                sync_folder(&self.pending)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.published_by_another(&path),
            Err(error) => Err(error),
        }
    }

    /// Writes the file with the content type. The bytes are moved next to it afterwards.
    fn write_type(&self, key: StorageKey, content_type: &ContentType) -> io::Result<()> {
        let (mut file, unique) = self.create_part()?;
        file.write_all(content_type.as_str().as_bytes())?;
        file.sync_all()?;
        fs::rename(Pending::part_path(&self.pending, &unique), self.type_path_of(key))
    }

    fn published_by_another(&self, path: &Path) -> io::Result<()> {
        match present(fs::metadata(path))? {
            Some(_) => sync_folder(path.parent().unwrap_or(&self.root)),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "the sealed file is gone")),
        }
    }
}

struct StagedFile {
    folders: Arc<Folders>,
    unique: String,
    content_type: ContentType,
    /// `None` once sealed.
    file: Option<Arc<File>>,
    /// The write of the previous block.
    writing: Option<JoinHandle<io::Result<()>>>,
}

impl StagedFile {
    async fn finish_writing(&mut self) -> Result<(), StoreError> {
        match self.writing.take() {
            Some(writing) => joined("write a file", writing).await,
            None => Ok(()),
        }
    }
}

impl Staged for StagedFile {
    fn write(&mut self, bytes: Bytes) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.finish_writing().await?;
            if let Some(file) = self.file.clone() {
                self.writing = Some(tokio::task::spawn_blocking(move || file.as_ref().write_all(&bytes)));
            }
            Ok(())
        })
    }

    fn seal(mut self: Box<Self>, key: StorageKey) -> StoreFuture<'static, Box<dyn Sealed>> {
        Box::pin(async move {
            self.finish_writing().await?;
            blocking("seal a file", move || {
                let part = Pending::part_path(&self.folders.pending, &self.unique);
                let path = Pending::sealed_path(&self.folders.pending, key, &self.unique, &self.content_type);
                if let Some(file) = &self.file {
                    file.sync_all()?;
                }
                fs::rename(part, &path)?;
                let lock = self.file.take();
                let (folders, content_type) = (Arc::clone(&self.folders), self.content_type.clone());
                let sealed = SealedFile { folders, path, key, content_type, _lock: lock };
                if let Err(error) = sync_folder(&sealed.folders.pending) {
                    // If this fails too, recovery removes the file.
                    let _ = remove(&sealed.path);
                    return Err(error);
                }
                Ok(Box::new(sealed) as Box<dyn Sealed>)
            })
            .await
        })
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            // If this fails, recovery removes the file.
            let _ = fs::remove_file(Pending::part_path(&self.folders.pending, &self.unique));
        }
    }
}

struct SealedFile {
    folders: Arc<Folders>,
    path: PathBuf,
    key: StorageKey,
    content_type: ContentType,
    /// Held until the file is published or discarded.
    _lock: Option<Arc<File>>,
}

impl Sealed for SealedFile {
    fn key(&self) -> StorageKey {
        self.key
    }

    fn publish(self: Box<Self>) -> StoreFuture<'static, ()> {
        Box::pin(blocking("publish a file", move || {
            self.folders.publish(&self.path, self.key, &self.content_type)
        }))
    }

    fn discard(self: Box<Self>) -> StoreFuture<'static, ()> {
        Box::pin(blocking("remove a file", move || remove(&self.path)))
    }
}

async fn blocking<T: Send + 'static>(
    doing: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    joined(doing, tokio::task::spawn_blocking(work)).await
}

async fn joined<T>(doing: &'static str, work: JoinHandle<io::Result<T>>) -> Result<T, StoreError> {
    let result = work.await.unwrap_or_else(|error| Err(error.into()));
    result.map_err(|error| StoreError::new(doing, error))
}

/// Makes renames in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Systems that do not support this make entries durable themselves.
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => {
            Ok(())
        }
        result => result,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    present(fs::remove_file(path)).map(|_| ())
}

/// Returns the metadata of a regular file. Links are not followed: the store creates none, and a link that another program
/// put into its folder could point outside.
fn regular(path: &Path) -> io::Result<Option<fs::Metadata>> {
    Ok(present(fs::symlink_metadata(path))?.filter(fs::Metadata::is_file))
}

/// Converts a `NotFound` error to `None`.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
