//! Identities of database files, and their write-ahead logs.

pub(crate) mod data_version;

use std::path::{Path, PathBuf};

/// The identity of a file, which differs for files that are at one path after each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

impl FileId {
    /// Returns the identity of the file at a path, if there is one.
    #[cfg(unix)]
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        std::fs::metadata(path).ok().map(|file| Self(file.dev(), file.ino()))
    }

    /// Files have no numbers here, so all files at one path count as one.
    #[cfg(not(unix))]
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        path.exists().then_some(Self(0, 0))
    }
}

/// Checks that the file at a path exists, and that its write-ahead log is not that of the file which was there before.
/// SQLite would apply such a log to the wrong database.
pub(crate) fn check_openable(path: &Path, log_before: Option<FileId>) -> Result<(), &'static str> {
    if FileId::from_path(path).is_none() {
        return Err("there is no such file");
    }
    let log = log_path(path);
    let has_frames = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    if has_frames && FileId::from_path(&log) == log_before {
        return Err("its log (-wal) is that of the file before it; remove that log");
    }
    Ok(())
}

/// Returns the path of the write-ahead log of a database.
pub(crate) fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}
