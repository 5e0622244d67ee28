//! Read-only connections with their prepared statements.

pub(crate) mod interrupt;
mod prepared_plans;
pub(crate) mod slow_reads;
pub(crate) mod statement_cache;
pub(crate) mod thread_connection;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mesh_plan::{JsonBody, Plan, ResolveError, Usage};
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::file::data_version::{DataVersion, VersionReader};
use crate::functions::add_functions;
use crate::pool::slow_reads::SlowReadQueue;
use crate::pool::statement_cache::StatementCache;
use crate::read::{self, failed};
use interrupt::{Budget, Interrupt};

/// The time limit of reads and writes that come without a deadline.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of prepared statements that a connection caches by their text.
const STATEMENTS: usize = 128;
/// Steps of SQLite's virtual machine between two checks of the budget, some ten microseconds.
const STEPS_PER_CHECK: i32 = 1_000;
/// How much of the file is mapped into memory, which saves a copy of each page that is read.
const MAPPED_BYTES: i64 = 1 << 40;

/// Idle connections. A read takes one and returns it, so there are at most as many as concurrent reads.
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
    /// Opens the file and checks that it can be read.
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

    /// Sets whether connections map the file. Idle connections are closed if the setting changes.
    pub(crate) fn map_files(&self, on: bool) {
        if self.mapped.swap(on, Ordering::Relaxed) != on {
            self.idle.lock().clear();
        }
    }

    /// Returns the reader of versions of the file.
    pub(crate) fn versions(&self) -> &VersionReader {
        &self.versions
    }

    /// Returns the cache of statements.
    pub(super) fn statements(&self) -> &StatementCache {
        &self.statements
    }

    /// Takes an idle connection, or opens one.
    pub(crate) fn take(&self) -> rusqlite::Result<Reader> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| Reader::open(&self.path, self.is_mapped()), Ok)
    }

    /// Returns a connection to the pool. One that is still inside a transaction is closed.
    pub(crate) fn give(&self, reader: Reader) {
        if reader.connection.is_autocommit() {
            self.idle.lock().push(reader);
        }
    }

    /// Returns the queue of slow reads.
    pub(crate) fn slow_reads(&self) -> &Arc<SlowReadQueue> {
        &self.slow_reads
    }

    /// Returns usage figures of the connections.
    pub(crate) fn usage(&self) -> Usage {
        let idle = self.idle.lock().len();
        let mut usage = Usage { idle, ..Usage::default() };
        self.slow_reads.add_usage(&mut usage);
        usage
    }
}

/// A read-only connection with an interrupt for reads that run too long.
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
        // Otherwise SQLite considers bound values, such as a limit, in its query plan, and prepares the statement again
        // whenever one changes: a quarter of the work of a nested read.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "mmap_size", if mapped { MAPPED_BYTES } else { 0 })?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        add_functions(&connection)?;
        let interrupt = Arc::new(Interrupt::new());
        let handler = Arc::clone(&interrupt);
        connection.progress_handler(STEPS_PER_CHECK, Some(move || handler.is_past()))?;
        Ok(Self { connection, interrupt })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// Reads a plan in one transaction, so that all rows belong to one snapshot. Also returns the version of the database
    /// that was read, if it is known.
    pub(crate) fn read(
        &self,
        plan: &Plan,
        budget: Budget,
        pool: &Pool,
    ) -> Result<(JsonBody, Option<DataVersion>), ResolveError> {
        let statements = pool.statements.of_plan(plan);
        self.interrupt.begin(budget);
        let before = pool.versions.current();
        self.connection.execute_batch("BEGIN").map_err(failed)?;
        let result = read::read_in_transaction(&self.connection, plan, &statements);
        // The snapshot was taken between two readings of the version. If they are equal, it has that version.
        let version = before.filter(|version| pool.versions.current() == Some(*version));
        let committed = self.connection.execute_batch("COMMIT").map_err(failed);
        result.and_then(|body| committed.map(|()| (body, version)))
    }

    /// Sets how long a read waits for a writer that holds the file.
    pub(crate) fn wait_for_writers(&mut self, time: Duration) -> rusqlite::Result<()> {
        self.connection.busy_timeout(time)
    }
}
