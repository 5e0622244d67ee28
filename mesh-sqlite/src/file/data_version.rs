//! The version of the database, which every commit of any process changes, read with at most one system call.
//!
//! `PRAGMA data_version` gives the same information but takes locks, which are three more system calls. Both read data
//! that every commit writes: in rollback mode the change counter in the header of the file; in WAL mode the header of
//! the WAL index, whose counter and checksums differ from all earlier ones. Rows belong to a version if the version is
//! the same before and after they are read.

mod wal_index;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rusqlite::Connection;
use wal_index::WalIndex;

use super::beside;

/// The offset of the journal mode in the header of the file. The change counter follows six bytes after it.
const JOURNAL_MODE: u64 = 18;
/// The journal mode of databases with a WAL, as stored in the header.
const WAL: [u8; 2] = [2, 2];

/// A version of the database. Equal versions have equal contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataVersion([u8; 48]);

/// Reads the versions of one database file.
pub(crate) struct VersionReader {
    path: PathBuf,
    main: Option<Arc<File>>,
    /// The WAL index, once the database is known to be in WAL mode.
    wal_index: OnceLock<WalIndex>,
    /// A connection that keeps the database open. While it is open in WAL mode, no process can leave that mode, or
    /// delete or truncate the WAL index; otherwise two different states could have equal headers.
    anchor: Mutex<Connection>,
}

impl VersionReader {
    /// Creates a reader for the file that the connection has open.
    pub(crate) fn new(path: &Path, anchor: Connection) -> Self {
        let main = open_once(path).ok();
        Self { path: path.to_owned(), main, wal_index: OnceLock::new(), anchor: Mutex::new(anchor) }
    }

    /// Returns the current version, or `None` if it cannot be read.
    pub(crate) fn current(&self) -> Option<DataVersion> {
        // A commit of another process may be changing the header. The checksums in it then match no other version.
        if let Some(index) = self.wal_index.get() {
            return index.version();
        }
        let version = self.file_version()?;
        if version.0.first_chunk() == Some(&WAL) { self.enter_wal_mode()?.version() } else { Some(version) }
    }

    /// Returns SQLite's counter of commits by other connections, which takes locks.
    pub(crate) fn data_version(&self) -> rusqlite::Result<i64> {
        self.anchor.lock().query_row("PRAGMA data_version", [], |row| row.get(0))
    }

    /// Returns whether the database is in WAL mode, in which readers do not block writers.
    pub(crate) fn is_wal(&self) -> bool {
        self.wal_index.get().is_some()
    }

    /// Returns whether the file is too short for its header.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.main.is_some() && self.file_version().is_none()
    }

    /// Reads the journal mode and the change counter in the header of the file.
    fn file_version(&self) -> Option<DataVersion> {
        let mut header = [0; 22];
        read(self.main.as_ref()?, &mut header, JOURNAL_MODE).ok()?;
        let mut version = DataVersion([0; 48]);
        version.0.first_chunk_mut::<22>()?.copy_from_slice(&header);
        Some(version)
    }

    /// Keeps the database in WAL mode, and opens the WAL index. A connection that has read in WAL mode holds a lock
    /// that prevents other processes from leaving this mode.
    fn enter_wal_mode(&self) -> Option<&WalIndex> {
        let anchor = self.anchor.lock();
        anchor.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).ok()?;
        if self.file_version()?.0.first_chunk() != Some(&WAL) {
            return None;
        }
        let index = WalIndex::open(open_once(&beside(&self.path, "-shm")).ok()?)?;
        Some(self.wal_index.get_or_init(|| index))
    }
}

/// Opens a file for reading, once per process, and never closes it: closing any descriptor of a file releases all POSIX
/// locks of the process on it, including those of SQLite.
#[cfg(unix)]
fn open_once(path: &Path) -> io::Result<Arc<File>> {
    use std::os::unix::fs::MetadataExt as _;

    /// Files by device and inode.
    type Files = HashMap<(u64, u64), Arc<File>>;

    static FILES: OnceLock<Mutex<Files>> = OnceLock::new();

    let mut files = FILES.get_or_init(Mutex::default).lock();
    let metadata = std::fs::metadata(path)?;
    if let Some(file) = files.get(&(metadata.dev(), metadata.ino())) {
        return Ok(Arc::clone(file));
    }
    let file = Arc::new(File::open(path)?);
    // The file must not be closed even if reading its metadata fails.
    std::mem::forget(Arc::clone(&file));
    let opened = file.metadata()?;
    files.insert((opened.dev(), opened.ino()), Arc::clone(&file));
    Ok(file)
}

#[cfg(unix)]
fn read(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(not(unix))]
fn open_once(_: &Path) -> io::Result<Arc<File>> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn read(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
