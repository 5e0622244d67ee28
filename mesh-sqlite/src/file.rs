//! Identities of database files, and their write-ahead logs.

use std::path::{Path, PathBuf};

/// What tells files apart that have one path after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

impl FileId {
    /// Of the file at that path, if there is one.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        std::fs::metadata(path).ok().map(|there| Self(there.dev(), there.ino()))
    }

    /// Where files have no numbers all of one path are taken for one.
    #[cfg(not(unix))]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.exists().then_some(Self(0, 0))
    }
}

/// Whether what lies at the path can be opened: it is there, and has no log that was written for the file before
/// it. SQLite would take such a log for its own, and put pages of the one into the other.
pub(crate) fn is_whole(path: &Path, log_before: Option<FileId>) -> Result<(), &'static str> {
    if FileId::of(path).is_none() {
        return Err("there is no such file");
    }
    let log = log_of(path);
    let is_full = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    if is_full && FileId::of(&log) == log_before {
        return Err("its log (-wal) is that of the file before it; remove that log");
    }
    Ok(())
}

/// Where the log of a database in WAL mode lies.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}
