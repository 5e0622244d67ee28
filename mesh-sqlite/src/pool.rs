//! Read-only connections with their prepared statements.

pub(crate) mod interrupt;
mod prepared_plans;
pub(crate) mod thread_connection;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::statements::StatementCache;
use mesh_plan::{JsonBody, Plan, ResolveError, Usage};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::data_version::{DataVersion, VersionReader};
use crate::functions::add_functions;
use crate::read::{self, failed};
use crate::slow_reads::SlowReadQueue;
use interrupt::{Budget, Interrupt};

/// The time limit of reads and writes that come without a deadline.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Statements that a connection keeps beside those of whole plans.
const STATEMENTS: usize = 128;
/// Steps of SQLite's virtual machine between two looks at the clock, some ten microseconds.
const STEPS_PER_LOOK: i32 = 1_000;
/// How much of the file is mapped into memory. Reading through the map spares a copy of each page.
const MAPPED_BYTES: i64 = 1 << 40;

/// Idle connections. A read takes one and gives it back; there are never more than reads at a time.
pub(crate) struct Pool {
    path: PathBuf,
    /// Whether connections map the file into memory.
    mapped: AtomicBool,
    idle: Mutex<Vec<Reader>>,
    slow_reads: Arc<SlowReadQueue>,
    versions: VersionReader,
    statements: StatementCache,
}

impl Pool {
    /// Opens the file once, which shows whether it can be read.
    pub(crate) fn open(path: &Path, mapped: bool) -> rusqlite::Result<Self> {
        let first = Reader::open(path, mapped)?;
        first.connection().query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self {
            path: path.to_owned(),
            mapped: AtomicBool::new(mapped),
            idle: Mutex::new(vec![first]),
            slow_reads: SlowReadQueue::new(),
            versions: VersionReader::new(path, connect(path)?),
            statements: StatementCache::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether connections map the file into memory.
    pub(crate) fn is_mapped(&self) -> bool {
        self.mapped.load(Ordering::Relaxed)
    }

    /// Has connections map the file or not, beginning with the next that is opened; none is kept of before.
    pub(crate) fn map_files(&self, on: bool) {
        if self.mapped.swap(on, Ordering::Relaxed) != on {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// The state that the database is in.
    pub(crate) fn versions(&self) -> &VersionReader {
        &self.versions
    }

    /// The statements of plans.
    pub(super) fn statements(&self) -> &StatementCache {
        &self.statements
    }

    /// An idle connection, or a new one.
    pub(crate) fn take(&self) -> rusqlite::Result<Reader> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Reader::open(&self.path, self.is_mapped()), Ok)
    }

    /// Gives a connection back, unless it is still inside a transaction, which it should never be.
    pub(crate) fn give(&self, reader: Reader) {
        if reader.connection.is_autocommit() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        }
    }

    /// Reads on threads of their own.
    pub(crate) fn slow_reads(&self) -> &Arc<SlowReadQueue> {
        &self.slow_reads
    }

    /// What of it is in use.
    pub(crate) fn usage(&self) -> Usage {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).len();
        let mut usage = Usage { idle, ..Usage::default() };
        self.slow_reads.fill(&mut usage);
        usage
    }
}

/// A connection that can only read, with an alarm that interrupts what runs too long.
pub(crate) struct Reader {
    connection: Connection,
    interrupt: Arc<Interrupt>,
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

impl Reader {
    pub(crate) fn open(path: &Path, mapped: bool) -> rusqlite::Result<Self> {
        let mut connection = connect(path)?;
        connection.pragma_update(None, "query_only", true)?;
        // Otherwise SQLite looks at bound values, a limit for instance, when it plans, and so prepares a
        // statement again each time another is bound: a quarter of the work of a nested read.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "mmap_size", if mapped { MAPPED_BYTES } else { 0 })?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        add_functions(&connection)?;
        let interrupt = Arc::new(Interrupt::new());
        let handler = Arc::clone(&interrupt);
        connection.progress_handler(STEPS_PER_LOOK, Some(move || handler.is_past()))?;
        Ok(Self { connection, interrupt })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// Reads a plan in one transaction, so that all its rows are of one moment. Also says in which state of the
    /// database, where that can be told.
    pub(crate) fn read(
        &self,
        plan: &Plan,
        budget: Budget,
        pool: &Pool,
    ) -> Result<(JsonBody, Option<DataVersion>), ResolveError> {
        let statements = pool.statements.of_plan(plan);
        self.interrupt.begin(budget);
        let before = pool.versions.now();
        self.connection.execute_batch("BEGIN").map_err(failed)?;
        let result = read::inside(&self.connection, plan, &statements);
        // The snapshot was taken between two stamps; where they are equal it is of that state.
        let state = before.filter(|version| pool.versions.now() == Some(*version));
        let committed = self.connection.execute_batch("COMMIT").map_err(failed);
        result.and_then(|body| committed.map(|()| (body, state)))
    }

    /// How long a read waits for a writer that holds the file.
    pub(crate) fn wait_for_writers(&mut self, time: Duration) -> rusqlite::Result<()> {
        self.connection.busy_timeout(time)
    }
}
