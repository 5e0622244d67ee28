//! Published files of a folder: listing and unpublishing.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::pending::Pending;
use super::{Folders, SealedFile, present, remove, sync_folder};
use crate::content_hash::{ContentHash, StorageKey};
use crate::store::{Sealed, StoredBlob};

impl Folders {
    /// Returns the names of the folders with published files.
    pub(super) fn groups() -> impl Iterator<Item = String> {
        (0..=u8::MAX).map(|group| format!("{group:02x}"))
    }

    /// Lists the files of one folder.
    pub(super) fn stored(&self, group: &str) -> io::Result<Vec<StoredBlob>> {
        let folder = self.root.join("sha256").join(group);
        let Some(entries) = present(fs::read_dir(folder))? else { return Ok(Vec::new()) };
        let mut stored = Vec::new();
        for entry in entries {
            let entry = entry?;
            let Some(key) = key_of(group, &entry.path()) else { continue };
            // The file may have been removed since the listing.
            let Some(found) = present(entry.metadata())? else { continue };
            // If the clock was set back, the file counts as new and is kept.
            let age = found.modified()?.elapsed().unwrap_or_default();
            stored.push(StoredBlob { key, size: found.len(), age });
        }
        Ok(stored)
    }

    /// Turns a published file into a sealed one. Returns `None` if it does not exist or is locked.
    pub(super) fn unpublish(self: Arc<Self>, key: StorageKey) -> io::Result<Option<Box<dyn Sealed>>> {
        let path = self.path_of(key);
        let Some(file) = present(File::open(&path))? else { return Ok(None) };
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            return Ok(None);
        }
        let content_type = self.type_of(key)?;
        let sealed = Pending::sealed_path(&self.pending, key, &self.unique_name(), &content_type);
        if present(fs::rename(&path, &sealed))?.is_none() {
            return Ok(None);
        }
        // The next publication of these bytes writes the type again.
        remove(&self.type_path_of(key))?;
        sync_folder(&self.pending)?;
        sync_folder(path.parent().unwrap_or(&self.root))?;
        let lock = Some(Arc::new(file));
        Ok(Some(Box::new(SealedFile { folders: self, path: sealed, key, content_type, _lock: lock })))
    }
}

/// Returns the key of a published file; `None` for `.type` files and other names.
fn key_of(group: &str, path: &Path) -> Option<StorageKey> {
    let rest = path.file_name()?.to_str()?;
    ContentHash::from_hex(&format!("{group}{rest}")).map(ContentHash::key)
}
