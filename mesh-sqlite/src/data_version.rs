//! The version of the database, which every commit of any process changes, read with one system call.
//!
//! `PRAGMA data_version` gives the same information but takes locks, which are three more system calls. Both read what
//! every commit writes: in rollback mode the change counter in the header of the file; in WAL mode the header of the WAL
//! index, whose counter and checksums differ from all earlier ones. Rows belong to a version if it is the same before and
//! after they were read.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rusqlite::Connection;

/// Where the database's header tells its journal mode and, six bytes on, counts changes.
const HEADER: u64 = 18;
/// The journal mode of databases with a WAL, as the header has it.
const WAL: [u8; 2] = [2, 2];

/// The database's state. States of equal marks are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataVersion([u8; 48]);

/// Reads the marks of one database file.
pub(crate) struct VersionReader {
    path: PathBuf,
    main: Option<Arc<File>>,
    wal_index: OnceLock<Option<Arc<File>>>,
    wal: AtomicBool,
    /// A connection that has the database open for as long as this lives. In WAL mode nobody else can then
    /// change the mode or put another file in the place of the index.
    anchor: Mutex<Connection>,
}

impl VersionReader {
    /// Begins to watch the file of that connection.
    pub(crate) fn new(path: &Path, anchor: Connection) -> Self {
        let main = kept_open(path).ok();
        Self {
            path: path.to_owned(),
            main,
            wal_index: OnceLock::new(),
            wal: AtomicBool::new(false),
            anchor: Mutex::new(anchor),
        }
    }

    /// The mark of the database's state now; `None` where it cannot be told.
    pub(crate) fn now(&self) -> Option<DataVersion> {
        if !self.is_wal() {
            let version = self.of_file()?;
            if version.0.first_chunk() != Some(&WAL) {
                return Some(version);
            }
            self.anchor()?;
        }
        // A commit of another process may be changing the header. The checksums in it then match no other version.
        let mut version = DataVersion([0; 48]);
        read(self.wal_index.get()?.as_ref()?, &mut version.0, 0).ok()?;
        Some(version)
    }

    /// Whether the database is known to be in WAL mode, in which readers hold up no writer.
    pub(crate) fn is_wal(&self) -> bool {
        self.wal.load(Ordering::Acquire)
    }

    /// Whether the file has no whole header any more.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.main.is_some() && self.of_file().is_none()
    }

    /// Mode and counter of changes out of the file's header.
    fn of_file(&self) -> Option<DataVersion> {
        let mut header = [0; 22];
        read(self.main.as_ref()?, &mut header, HEADER).ok()?;
        let mut version = DataVersion([0; 48]);
        version.0.first_chunk_mut::<22>()?.copy_from_slice(&header);
        Some(version)
    }

    /// Makes sure that the mode stays WAL. A connection that has read in that mode keeps a lock which all who
    /// want to leave it would have to get.
    fn anchor(&self) -> Option<()> {
        let anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        anchor.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).ok()?;
        if self.of_file()?.0.first_chunk() != Some(&WAL) {
            return None;
        }
        let mut name = self.path.clone().into_os_string();
        name.push("-shm");
        self.wal_index.get_or_init(|| kept_open(Path::new(&name)).ok()).as_ref()?;
        self.wal.store(true, Ordering::Release);
        Some(())
    }
}

/// Opens a file for reading, once in the life of the process, and never closes it: on Unix closing any
/// descriptor of a file gives up all locks that the process has on it, those of SQLite too.
#[cfg(unix)]
fn kept_open(path: &Path) -> io::Result<Arc<File>> {
    use std::os::unix::fs::MetadataExt as _;

    /// Files by device and inode.
    type Files = HashMap<(u64, u64), Arc<File>>;

    static OPEN: OnceLock<Mutex<Files>> = OnceLock::new();

    let mut open = OPEN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let there = std::fs::metadata(path)?;
    if let Some(file) = open.get(&(there.dev(), there.ino())) {
        return Ok(Arc::clone(file));
    }
    let file = Arc::new(File::open(path)?);
    // Kept even where what follows fails, for then it is closed as little.
    std::mem::forget(Arc::clone(&file));
    let opened = file.metadata()?;
    open.insert((opened.dev(), opened.ino()), Arc::clone(&file));
    Ok(file)
}

#[cfg(unix)]
fn read(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(not(unix))]
fn kept_open(_: &Path) -> io::Result<Arc<File>> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn read(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
