//! The file at the path of a database, which other programs may replace or remove.
//!
//! An open file stays readable when its name is gone, so reads and writes would go to a database that nothing else sees.
//! The path is therefore checked, with one system call, at most ten times a second.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use mesh_plan::{Generations, PlanId, ResolveError};

use crate::file::{FileId, is_whole, log_of};
use crate::pool::Pool;
use crate::response_cache::ResponseCache;

/// How long a look at the path counts.
const LOOK: Duration = Duration::from_millis(100);

/// Queries that are remembered as heavy.
const HEAVY: usize = 512;

/// One file, opened: its connections, and what was read through them.
#[derive(Clone)]
pub(crate) struct OpenFile {
    pub(crate) pool: Arc<Pool>,
    pub(crate) cache: Option<Arc<ResponseCache>>,
    /// The queries that take too long for the runtime's thread.
    pub(crate) heavy: Arc<Generations<PlanId, ()>>,
    id: Option<FileId>,
}

impl OpenFile {
    pub(crate) fn open(path: &Path, cache_bytes: usize, mapped: bool) -> rusqlite::Result<Self> {
        // Looked at first: what is put there meanwhile is then opened once more, and not missed.
        let id = FileId::of(path);
        let pool = Arc::new(Pool::open(path, mapped)?);
        Ok(Self { pool, cache: cache_of(cache_bytes), heavy: Arc::new(Generations::new(HEAVY)), id })
    }
}

fn cache_of(bytes: usize) -> Option<Arc<ResponseCache>> {
    (bytes > 0).then(|| Arc::new(ResponseCache::new(bytes)))
}

/// Moves a writer to the file that is at its path now, or says why it cannot.
type RenewWriter = Box<dyn Fn() -> Result<(), &'static str> + Send + Sync>;

/// The file at a path, whichever it is now.
pub(crate) struct CurrentFile {
    now: RwLock<Arc<OpenFile>>,
    cache_bytes: usize,
    start: Instant,
    /// The time of the next look, in milliseconds after `start`.
    next_look: AtomicU64,
    /// Whether there was no database at the path when it was last looked at.
    is_gone: AtomicBool,
    /// The log beside the file when it was last looked at.
    log: Mutex<Option<FileId>>,
    /// Moves the writer to a new file, before readers open that.
    renew_writer: OnceLock<RenewWriter>,
}

impl CurrentFile {
    pub(crate) fn new(opened: OpenFile, cache_bytes: usize) -> Self {
        Self {
            now: RwLock::new(Arc::new(opened)),
            cache_bytes,
            start: Instant::now(),
            next_look: AtomicU64::new(0),
            is_gone: AtomicBool::new(false),
            log: Mutex::new(None),
            renew_writer: OnceLock::new(),
        }
    }

    /// Sets the function that moves the writer to a new file.
    pub(crate) fn on_replaced(
        &self,
        renew_writer: impl Fn() -> Result<(), &'static str> + Send + Sync + 'static,
    ) {
        let _ = self.renew_writer.set(Box::new(renew_writer));
    }

    /// The same file with another bound on what is kept of it.
    pub(crate) fn with_cache(&self, bytes: usize) -> Self {
        let mut opened = OpenFile::clone(&self.last());
        opened.cache = cache_of(bytes);
        Self::new(opened, bytes)
    }

    /// The file as it was last found, whatever has become of it.
    pub(crate) fn last(&self) -> Arc<OpenFile> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The file at the path.
    ///
    /// # Errors
    /// [`ResolveError::Busy`] while there is none, since one may be put there any moment.
    pub(crate) fn current(&self) -> Result<Arc<OpenFile>, ResolveError> {
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
        let renewed = self.renew_writer.get().map_or(Ok(()), |renew| renew());
        let opened = renewed.and_then(|()| is_whole(path, *log)).map_err(str::to_owned);
        let mapped = last.pool.is_mapped();
        let opened = opened
            .and_then(|()| OpenFile::open(path, self.cache_bytes, mapped).map_err(|error| error.to_string()));
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
}
