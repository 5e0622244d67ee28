//! The file at the path of a database, which other programs may replace or remove.
//!
//! An open file stays readable when its name is gone, so reads and writes would go to a database that nothing else sees.
//! The path is therefore checked, with one system call, at most ten times a second.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mesh_plan::{Generations, PlanId, ResolveError};
use parking_lot::{Mutex, RwLock};

use crate::file::{FileId, check_openable, log_path};
use crate::pool::Pool;
use crate::response_cache::ResponseCache;

/// The interval between checks of the path.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of queries that are remembered as heavy.
const HEAVY: usize = 512;

/// An open file: its connections and the answers read from it.
#[derive(Clone)]
pub(crate) struct OpenFile {
    pub(crate) pool: Arc<Pool>,
    pub(crate) cache: Option<Arc<ResponseCache>>,
    /// The queries that take too long for a thread of the runtime.
    pub(crate) heavy: Arc<Generations<PlanId, ()>>,
    id: Option<FileId>,
}

impl OpenFile {
    pub(crate) fn open(path: &Path, cache_bytes: usize, mapped: bool) -> rusqlite::Result<Self> {
        // Read before the file is opened: if it is replaced in between, the next check finds another identity.
        let id = FileId::from_path(path);
        let pool = Arc::new(Pool::open(path, mapped)?);
        Ok(Self { pool, cache: response_cache(cache_bytes), heavy: Arc::new(Generations::new(HEAVY)), id })
    }
}

fn response_cache(bytes: usize) -> Option<Arc<ResponseCache>> {
    (bytes > 0).then(|| Arc::new(ResponseCache::new(bytes)))
}

/// Makes a writer open the file that is at its path, or returns why it cannot.
type ReopenWriter = Box<dyn Fn() -> Result<(), &'static str> + Send + Sync>;

/// The file that is currently at a path.
pub(crate) struct CurrentFile {
    file: RwLock<Arc<OpenFile>>,
    cache_bytes: usize,
    start: Instant,
    /// The time of the next check, in milliseconds after `start`.
    next_check: AtomicU64,
    /// Whether the last check found no database at the path.
    is_missing: AtomicBool,
    /// The write-ahead log of the file at the last check.
    log: Mutex<Option<FileId>>,
    /// Makes the writer open a new file before readers do.
    reopen_writer: OnceLock<ReopenWriter>,
}

impl CurrentFile {
    pub(crate) fn new(opened: OpenFile, cache_bytes: usize) -> Self {
        Self {
            file: RwLock::new(Arc::new(opened)),
            cache_bytes,
            start: Instant::now(),
            next_check: AtomicU64::new(0),
            is_missing: AtomicBool::new(false),
            log: Mutex::new(None),
            reopen_writer: OnceLock::new(),
        }
    }

    /// Sets the function that makes the writer open a new file.
    pub(crate) fn on_replaced(
        &self,
        reopen_writer: impl Fn() -> Result<(), &'static str> + Send + Sync + 'static,
    ) {
        let _ = self.reopen_writer.set(Box::new(reopen_writer));
    }

    /// Returns the file with an empty response cache of another size.
    pub(crate) fn with_cache(&self, bytes: usize) -> Self {
        let mut opened = OpenFile::clone(&self.last());
        opened.cache = response_cache(bytes);
        Self::new(opened, bytes)
    }

    /// Returns the file that the last check found.
    pub(crate) fn last(&self) -> Arc<OpenFile> {
        Arc::clone(&self.file.read())
    }

    /// Checks the path if that is due, and returns the file at it.
    ///
    /// # Errors
    /// [`ResolveError::Busy`] while there is no file, since it may be about to be replaced.
    pub(crate) fn current(&self) -> Result<Arc<OpenFile>, ResolveError> {
        let millis = self.start.elapsed().as_millis() as u64;
        let due = self.next_check.load(Ordering::Relaxed);
        let until = millis.saturating_add(CHECK_INTERVAL.as_millis() as u64);
        // Only one of several concurrent callers checks.
        if millis >= due
            && self.next_check.compare_exchange(due, until, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.check();
        }
        if self.is_missing.load(Ordering::Acquire) { Err(ResolveError::Busy) } else { Ok(self.last()) }
    }

    fn check(&self) {
        let last = self.last();
        let path = last.pool.path();
        let id = FileId::from_path(path);
        let mut log = self.log.lock();
        if id.is_some() && id == last.id {
            *log = FileId::from_path(&log_path(path));
            self.is_missing.store(false, Ordering::Release);
            return;
        }
        // The writer reopens first, because it empties the log of the old file. If it is busy, or if the file is not
        // complete yet, the next check tries again.
        let reopened = self.reopen_writer.get().map_or(Ok(()), |reopen| reopen());
        let opened = reopened.and_then(|()| check_openable(path, *log)).map_err(str::to_owned);
        let mapped = last.pool.is_mapped();
        let opened = opened
            .and_then(|()| OpenFile::open(path, self.cache_bytes, mapped).map_err(|error| error.to_string()));
        match opened {
            Ok(opened) => {
                tracing::warn!("the database at {} was replaced; reading the new file", path.display());
                *self.file.write() = Arc::new(opened);
                self.is_missing.store(false, Ordering::Release);
            }
            Err(error) => {
                if !self.is_missing.swap(true, Ordering::AcqRel) {
                    tracing::error!("the database at {} cannot be read: {error}", path.display());
                }
            }
        }
    }
}
