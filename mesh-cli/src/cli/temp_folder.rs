//! Temporary folders of commands.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that only this user can read, removed on drop.
#[derive(Debug)]
pub(crate) struct TempFolder(PathBuf);

impl TempFolder {
    /// Creates a new folder, so that no other user can have prepared it.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let mut failed = io::Error::from(io::ErrorKind::AlreadyExists);
        for attempt in 0..100 {
            let path = std::env::temp_dir().join(format!("{name}-{}-{attempt}", std::process::id()));
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // If removal fails, the system removes the folder later.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
