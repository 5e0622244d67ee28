//! Is the file that was opened still the one at its path? Others may put another in its place, or take it away.
//!
//! A file that is open stays what it is when its name goes, so without a look nobody would notice, and reads and
//! writes would be of a database that no one else can see. A look costs a system call and is taken ten times a
//! second at the most.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use mesh_plan::{Generations, PlanId, ResolveError};

use super::cache::Cache;
use super::pool::Pool;
use super::write::Writer;

/// How long a look at the path counts.
const LOOK: Duration = Duration::from_millis(100);

/// Queries that are remembered as heavy.
const HEAVY: usize = 512;

/// What tells files apart that have one path after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// Of the file at that path, if there is one.
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        std::fs::metadata(path).ok().map(|there| Self(there.dev(), there.ino()))
    }

    /// Where files have no numbers all of one path are taken for one.
    #[cfg(not(unix))]
    pub(super) fn of(path: &Path) -> Option<Self> {
        path.exists().then_some(Self(0, 0))
    }
}

/// Whether what lies at the path can be opened: it is there, and has no log that was written for the file before
/// it. SQLite would take such a log for its own, and put pages of the one into the other.
pub(super) fn is_whole(path: &Path, log_before: Option<FileId>) -> Result<(), &'static str> {
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
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// One file, opened: its connections, and what was read through them.
#[derive(Clone)]
pub(super) struct Opened {
    pub(super) pool: Arc<Pool>,
    pub(super) cache: Option<Arc<Cache>>,
    /// The queries that take too long for the runtime's thread.
    pub(super) heavy: Arc<Generations<PlanId, ()>>,
    id: Option<FileId>,
}

impl Opened {
    pub(super) fn open(path: &Path, cache_bytes: usize, mapped: bool) -> rusqlite::Result<Self> {
        // Looked at first: what is put there meanwhile is then opened once more, and not missed.
        let id = FileId::of(path);
        let pool = Arc::new(Pool::open(path, mapped)?);
        Ok(Self { pool, cache: cache_of(cache_bytes), heavy: Arc::new(Generations::new(HEAVY)), id })
    }
}

fn cache_of(bytes: usize) -> Option<Arc<Cache>> {
    (bytes > 0).then(|| Arc::new(Cache::new(bytes)))
}

/// The file at a path, whichever it is now.
pub(super) struct Watched {
    now: RwLock<Arc<Opened>>,
    cache_bytes: usize,
    start: Instant,
    /// The time of the next look, in milliseconds after `start`.
    next_look: AtomicU64,
    /// Whether there was no database at the path when it was last looked at.
    is_gone: AtomicBool,
    /// The log beside the file when it was last looked at.
    log: Mutex<Option<FileId>>,
    /// Who writes to the file, and so may have a log of it.
    writer: OnceLock<Weak<Mutex<Writer>>>,
}

impl Watched {
    pub(super) fn new(opened: Opened, cache_bytes: usize) -> Self {
        Self {
            now: RwLock::new(Arc::new(opened)),
            cache_bytes,
            start: Instant::now(),
            next_look: AtomicU64::new(0),
            is_gone: AtomicBool::new(false),
            log: Mutex::new(None),
            writer: OnceLock::new(),
        }
    }

    /// Makes known who writes to the file.
    pub(super) fn written_by(&self, writer: &Arc<Mutex<Writer>>) {
        let _ = self.writer.set(Arc::downgrade(writer));
    }

    /// The same file with another bound on what is kept of it.
    pub(super) fn with_cache(&self, bytes: usize) -> Self {
        let mut opened = Opened::clone(&self.last());
        opened.cache = cache_of(bytes);
        Self::new(opened, bytes)
    }

    /// The file as it was last found, whatever has become of it.
    pub(super) fn last(&self) -> Arc<Opened> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The file at the path.
    ///
    /// # Errors
    /// [`ResolveError::Busy`] while there is none, since one may be put there any moment.
    pub(super) fn current(&self) -> Result<Arc<Opened>, ResolveError> {
        let millis = self.start.elapsed().as_millis() as u64;
        let due = self.next_look.load(Ordering::Relaxed);
        let until = millis.saturating_add(LOOK.as_millis() as u64);
        // Of those who come at the same time one looks.
        if millis >= due
            && self.next_look.compare_exchange(due, until, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.look();
        }
        if self.is_gone.load(Ordering::Acquire) { Err(ResolveError::Busy) } else { Ok(self.last()) }
    }

    fn look(&self) {
        let last = self.last();
        let path = last.pool.path();
        let there = FileId::of(path);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if there.is_some() && there == last.id {
            *log = FileId::of(&log_of(path));
            self.is_gone.store(false, Ordering::Release);
            return;
        }
        // A writer goes to the new file first, and empties its log of the old one. One that is at work, and a file
        // that is not yet whole, are asked again with the next look.
        let opened = self.renew_writer().and_then(|()| is_whole(path, *log)).map_err(str::to_owned);
        let mapped = last.pool.is_mapped();
        let opened = opened
            .and_then(|()| Opened::open(path, self.cache_bytes, mapped).map_err(|error| error.to_string()));
        match opened {
            Ok(opened) => {
                tracing::warn!(
                    "the database at {} is another file now, which is read instead",
                    path.display()
                );
                *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(opened);
                self.is_gone.store(false, Ordering::Release);
            }
            Err(error) => {
                if !self.is_gone.swap(true, Ordering::AcqRel) {
                    tracing::error!("the database at {} cannot be read any more: {error}", path.display());
                }
            }
        }
    }

    fn renew_writer(&self) -> Result<(), &'static str> {
        let Some(writer) = self.writer.get().and_then(Weak::upgrade) else { return Ok(()) };
        let Ok(mut writer) = writer.try_lock() else { return Err("a write is under way") };
        writer.renew().map_err(|_| "it cannot be written")
    }
}
