//! The file at the path of a database, which other programs may replace or remove.
//!
//! An open file stays usable after its name is removed, so reads and writes would go to a database that no other
//! program sees. The path is therefore checked, with one system call, at most ten times a second.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Guard};
use mesh_plan::ResolveError;
use mesh_plan::backend::{Cache, PlanId};
use parking_lot::Mutex;

use crate::file::FileIdentity;
use crate::pool::Pool;
use crate::response_cache::ResponseCache;
use crate::settings::Settings;

/// The interval between checks of the path.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of queries that are remembered as heavy.
const HEAVY: usize = 512;

/// An open file: its connections and the answers read from it.
pub(crate) struct OpenFile {
    pub(crate) pool: Arc<Pool>,
    pub(crate) cache: ResponseCache,
    /// Whether the last read of a query took too long for a runtime thread.
    heavy: Cache<PlanId, bool>,
}

impl OpenFile {
    fn open(path: &Path, settings: &Settings) -> rusqlite::Result<Self> {
        let pool = Arc::new(Pool::open(path, settings)?);
        let cache = ResponseCache::new(settings.response_cache);
        Ok(Self { pool, cache, heavy: Cache::new(HEAVY) })
    }

    /// Returns whether reads of a query take long.
    pub(crate) fn is_heavy(&self, id: &PlanId) -> bool {
        self.heavy.get(id).unwrap_or(false)
    }

    /// Records whether a read of a query took long. A query may have been slow only once, on a busy machine or while the
    /// file was not in memory, so each run on another thread decides anew.
    pub(crate) fn mark(&self, id: &PlanId, is_heavy: bool) {
        self.heavy.insert(id.clone(), is_heavy, 1);
    }
}

/// A function that makes a writer open the file at its path, or returns the reason why it cannot.
type ReopenWriter = Box<dyn Fn() -> Result<(), &'static str> + Send + Sync>;

/// The file that is currently at a path.
pub(crate) struct CurrentFile {
    /// Every read loads it. Loading changes neither a lock nor a reference count, for which threads would wait.
    file: ArcSwap<OpenFile>,
    identity: Mutex<FileIdentity>,
    start: Instant,
    /// The time of the next check, in milliseconds after `start`.
    next_check: AtomicU64,
    /// Whether the last check found no database at the path.
    is_missing: AtomicBool,
    /// Makes the writer open a new file before readers do.
    reopen_writer: OnceLock<ReopenWriter>,
}

impl CurrentFile {
    pub(crate) fn open(path: &Path, settings: &Settings) -> rusqlite::Result<Self> {
        let identity = FileIdentity::new(path);
        Ok(Self {
            file: ArcSwap::from_pointee(OpenFile::open(path, settings)?),
            identity: Mutex::new(identity),
            start: Instant::now(),
            next_check: AtomicU64::new(0),
            is_missing: AtomicBool::new(false),
            reopen_writer: OnceLock::new(),
        })
    }

    /// Sets the function that makes the writer open a new file.
    pub(crate) fn on_replaced(
        &self,
        reopen_writer: impl Fn() -> Result<(), &'static str> + Send + Sync + 'static,
    ) {
        let _ = self.reopen_writer.set(Box::new(reopen_writer));
    }

    /// Returns the file that the last check found.
    pub(crate) fn last(&self) -> Guard<Arc<OpenFile>> {
        self.file.load()
    }

    /// Checks the path if a check is due, and returns the file at it.
    ///
    /// # Errors
    /// [`ResolveError::Busy`] while there is no file, since it may be about to be replaced.
    pub(crate) fn current(&self) -> Result<Guard<Arc<OpenFile>>, ResolveError> {
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
        let mut identity = self.identity.lock();
        if identity.is_current() {
            self.is_missing.store(false, Ordering::Release);
            return;
        }
        let path = identity.path().to_owned();
        match self.open_successor(&identity) {
            Ok((next, opened)) => {
                tracing::warn!("the database at {} was replaced; reading the new file", path.display());
                *identity = next;
                self.file.store(Arc::new(opened));
                self.is_missing.store(false, Ordering::Release);
            }
            Err(error) => {
                if !self.is_missing.swap(true, Ordering::AcqRel) {
                    tracing::error!("the database at {} cannot be read: {error}", path.display());
                }
            }
        }
    }

    /// Opens the file that has replaced another one. The writer opens it first, because the writer empties the log of
    /// the old file. If the writer is busy or the file is not complete yet, the next check tries again.
    fn open_successor(&self, last: &FileIdentity) -> Result<(FileIdentity, OpenFile), String> {
        if let Some(reopen_writer) = self.reopen_writer.get() {
            reopen_writer()?;
        }
        last.check_successor()?;
        let next = FileIdentity::new(last.path());
        let opened = OpenFile::open(last.path(), &self.last().pool.settings);
        Ok((next, opened.map_err(|error| error.to_string())?))
    }
}
