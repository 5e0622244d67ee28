//! Who may read now? Connections opened for reading, kept with their prepared statements.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::sum::Sum;
use mesh_plan::{Pattern, ResolveError, sql::functions};
use rusqlite::config::DbConfig;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Reads that may run on threads of their own at a time; more wait for their turn.
const HEAVY_READS: usize = 16;
/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 512;
/// Steps of SQLite's virtual machine between two looks at the clock, some ten microseconds.
const STEPS_PER_LOOK: i32 = 1_000;
/// How much of the file is mapped into memory. Reading through the map spares a copy of each page.
const MAPPED_BYTES: i64 = 1 << 30;

/// Idle connections. A read takes one and gives it back; there are never more than reads at a time.
pub(super) struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Reader>>,
    heavy: Arc<Semaphore>,
}

impl Pool {
    /// Opens the file once, which shows whether it can be read.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let first = Reader::open(path)?;
        first.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self {
            path: path.to_owned(),
            idle: Mutex::new(vec![first]),
            heavy: Arc::new(Semaphore::new(HEAVY_READS)),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An idle connection, or a new one.
    pub(super) fn take(&self) -> rusqlite::Result<Reader> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Reader::open(&self.path), Ok)
    }

    /// Gives a connection back, unless it is still inside a transaction, which it should never be.
    pub(super) fn give(&self, reader: Reader) {
        if reader.connection.is_autocommit() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        }
    }

    /// Waits for the right to run on a thread of its own.
    pub(super) async fn heavy(&self) -> Result<OwnedSemaphorePermit, ResolveError> {
        Arc::clone(&self.heavy).acquire_owned().await.map_err(|_| ResolveError::Busy)
    }
}

/// A connection that can only read, with an alarm that interrupts what runs too long.
pub(super) struct Reader {
    connection: Connection,
    alarm: Arc<Alarm>,
}

impl Reader {
    fn open(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.pragma_update(None, "query_only", true)?;
        // Otherwise SQLite looks at bound values, a limit for instance, when it plans, and so prepares a
        // statement again each time another is bound: a quarter of the work of a nested read.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        for (name, ignore_case) in [(functions::LIKE, false), (functions::ILIKE, true)] {
            let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
            connection.create_scalar_function(name, 2, flags, move |call| like(call, ignore_case))?;
        }
        // In place of SQLite's own, which fails when a running sum overflows though the total does not.
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        connection.create_aggregate_function("sum", 1, flags, Sum)?;
        let alarm = Arc::new(Alarm::new());
        let handler = Arc::clone(&alarm);
        connection.progress_handler(STEPS_PER_LOOK, Some(move || handler.is_past()))?;
        Ok(Self { connection, alarm })
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Runs something on the connection, which is interrupted when the deadline passes, or after the alarm has
    /// looked at the clock that many times, each time after the same number of steps.
    pub(super) fn until<T>(&self, deadline: Instant, looks: u32, run: impl FnOnce() -> T) -> T {
        self.alarm.begin(deadline, looks);
        run()
    }

    /// Something that interrupts the connection's next read when it is dropped, as the read's own future is
    /// when its client goes away.
    pub(super) fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop { read: self.alarm.read.load(Ordering::Relaxed) + 1, alarm: Arc::clone(&self.alarm) }
    }

    /// How long a read waits for a writer that holds the file.
    pub(super) fn wait_for_writers(&mut self, time: Duration) -> rusqlite::Result<()> {
        self.connection.busy_timeout(time)
    }
}

/// Tells a running statement when to stop.
struct Alarm {
    start: Instant,
    /// Counts the connection's reads.
    read: AtomicU64,
    /// When the current read has to end, in nanoseconds after `start`.
    deadline: AtomicU64,
    /// Looks at the clock that the current read has left; `u32::MAX` never ends.
    looks: AtomicU32,
    /// The read whose result nobody waits for any more.
    cancelled: AtomicU64,
}

impl Alarm {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            read: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            looks: AtomicU32::new(u32::MAX),
            cancelled: AtomicU64::new(u64::MAX),
        }
    }

    fn begin(&self, deadline: Instant, looks: u32) {
        self.looks.store(looks, Ordering::Relaxed);
        let nanos = deadline.saturating_duration_since(self.start).as_nanos();
        self.deadline.store(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.read.fetch_add(1, Ordering::Relaxed);
    }

    fn is_past(&self) -> bool {
        // Only the thread that runs the read counts, so nothing is lost between load and store.
        match self.looks.load(Ordering::Relaxed) {
            0 => return true,
            u32::MAX => {}
            looks => self.looks.store(looks - 1, Ordering::Relaxed),
        }
        self.cancelled.load(Ordering::Relaxed) == self.read.load(Ordering::Relaxed)
            || self.start.elapsed().as_nanos() >= u128::from(self.deadline.load(Ordering::Relaxed))
    }
}

/// Interrupts one read when dropped; see [`Reader::cancel_on_drop`]. Dropped after the read, it does nothing.
pub(super) struct CancelOnDrop {
    alarm: Arc<Alarm>,
    read: u64,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.alarm.cancelled.store(self.read, Ordering::Relaxed);
    }
}

/// `mesh_like(text, pattern)`; the pattern is read once for each run of a statement.
fn like(call: &Context<'_>, ignore_case: bool) -> rusqlite::Result<Option<bool>> {
    let pattern = call.get_or_create_aux(1, |value| -> Result<Pattern, rusqlite::types::FromSqlError> {
        Ok(Pattern::new(value.as_str()?, ignore_case))
    })?;
    Ok(match call.get_raw(0) {
        ValueRef::Null => None,
        ValueRef::Text(text) => Some(pattern.matches(&String::from_utf8_lossy(text))),
        _ => Some(false),
    })
}
