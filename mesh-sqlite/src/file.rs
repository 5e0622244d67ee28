//! Identities of database files, which other programs may replace while they are open, and the paths of files beside them.

pub(crate) mod data_version;
pub(crate) mod journal_mode;

use std::path::{Path, PathBuf};

/// Returns the path of a file that belongs to a database: the path of the database with a suffix. Symbolic links are
/// resolved, as in SQLite, so that programs that open a database by different paths use the same files.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into_os_string();
    path.push(suffix);
    path.into()
}

/// The device and inode number of a file, which differ between successive files at one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

impl FileId {
    /// Returns the identity of the file at a path, if there is one.
    #[cfg(unix)]
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        std::fs::metadata(path).ok().map(|file| Self(file.dev(), file.ino()))
    }

    /// Returns the same identity for every file, because files have no inode numbers on this platform.
    #[cfg(not(unix))]
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        path.exists().then_some(Self(0, 0))
    }
}

/// The file that was opened at a path, with its write-ahead log.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    id: Option<FileId>,
    log: Option<FileId>,
}

impl FileIdentity {
    /// Identifies the file at a path. Call this before opening the file: if it is replaced in between, it is then not
    /// current.
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), id: FileId::from_path(path), log: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file is still at its path.
    pub(crate) fn is_current(&mut self) -> bool {
        let id = FileId::from_path(&self.path);
        let is_current = id.is_some() && id == self.id;
        if is_current {
            self.log = FileId::from_path(&self.log_path());
        }
        is_current
    }

    /// Checks that another file is at the path and that its write-ahead log is not the log of this file, which SQLite
    /// would apply to the wrong database.
    pub(crate) fn check_successor(&self) -> Result<(), &'static str> {
        if !self.path.exists() {
            return Err("there is no such file");
        }
        let log = self.log_path();
        let has_frames = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
        if has_frames && FileId::from_path(&log) == self.log {
            return Err("its write-ahead log (-wal) belongs to the previous file; remove the log");
        }
        Ok(())
    }

    fn log_path(&self) -> PathBuf {
        beside(&self.path, "-wal")
    }
}
