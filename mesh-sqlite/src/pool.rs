//! Read-only connections.

pub(crate) mod interrupt;
mod slow_read_queue;
pub(crate) mod slow_read_thread;
pub(crate) mod thread_connection;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::backend::{Script, ScriptError, StepResult, Trace, Usage, run_reads};
use mesh_plan::{JsonBody, Plan, ResolveError};
use mesh_sql::sqlite::Statements;
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::file::data_version::{DataVersion, VersionReader};
use crate::functions::add_functions;
use crate::read::sort_bound::{self, TableSizes};
use crate::read::{self, failed};
use crate::settings::Settings;
use interrupt::{Budget, Interrupt};
use slow_read_queue::SlowReadQueue;

/// The time limit for waiting for other processes when a file is opened.
pub(crate) const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The length of the file that is mapped into memory, in bytes. Mapping saves a copy of each page that is read.
const MAPPED_BYTES: i64 = 1 << 40;

/// A pool of idle connections. A read takes one and returns it, so there are at most as many as concurrent reads.
pub(crate) struct Pool {
    pub(crate) path: PathBuf,
    pub(crate) slow_reads: Arc<SlowReadQueue>,
    pub(crate) versions: VersionReader,
    pub(crate) settings: Settings,
    idle: Mutex<Vec<Reader>>,
}

impl Pool {
    /// Opens the file and checks that it can be read.
    pub(crate) fn open(path: &Path, settings: &Settings) -> rusqlite::Result<Self> {
        let first = Reader::open(path, settings.memory_map)?;
        // Another server may be changing the journal mode.
        first.connection.busy_timeout(OPEN_TIMEOUT)?;
        first.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        first.connection.busy_timeout(Duration::ZERO)?;
        Ok(Self {
            path: path.to_owned(),
            slow_reads: Arc::new(SlowReadQueue::new()),
            versions: VersionReader::new(path, connect(path)?),
            settings: settings.clone(),
            idle: Mutex::new(vec![first]),
        })
    }

    /// Takes an idle connection, or opens one.
    pub(crate) fn take(&self) -> rusqlite::Result<Reader> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| Reader::open(&self.path, self.settings.memory_map), Ok)
    }

    /// Returns a connection to the pool. One that is still inside a transaction is closed.
    pub(crate) fn release(&self, reader: Reader) {
        if reader.connection.is_autocommit() {
            self.idle.lock().push(reader);
        }
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
    pub(crate) connection: Connection,
    pub(crate) interrupt: Arc<Interrupt>,
    /// The sizes of tables whose rows are sorted by values of related records.
    pub(crate) sizes: TableSizes,
}

/// Opens a read-only connection whose statements do not wait for writers.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

/// Opens a read-only connection whose statements wait for other processes.
pub(crate) fn connect_waiting(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.busy_timeout(OPEN_TIMEOUT)?;
    Ok(connection)
}

/// Sets whether a connection maps the file into memory.
pub(crate) fn map_file(connection: &Connection, on: bool) -> rusqlite::Result<()> {
    connection.pragma_update(None, "mmap_size", if on { MAPPED_BYTES } else { 0 })
}

impl Reader {
    pub(crate) fn open(path: &Path, mapped: bool) -> rusqlite::Result<Self> {
        let connection = connect(path)?;
        // Threads cache the statements of plans.
        connection.set_prepared_statement_cache_capacity(0);
        connection.pragma_update(None, "query_only", true)?;
        // Otherwise SQLite considers bound values, such as a limit, in its query plan, and prepares the statement again
        // whenever one changes. That takes a quarter of the work of a nested read.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        map_file(&connection, mapped)?;
        Self::new(connection)
    }

    /// Adds an interrupt and the functions of plans to a connection.
    pub(crate) fn new(mut connection: Connection) -> rusqlite::Result<Self> {
        let interrupt = Interrupt::new(&mut connection)?;
        add_functions(&connection, &interrupt)?;
        Ok(Self { connection, interrupt, sizes: TableSizes::default() })
    }

    /// Lowers a plan. Refuses one that scans more rows than its bound allows to sort by values of related records.
    pub(crate) fn lower(&self, plan: &Plan) -> Result<Statements, ResolveError> {
        let statements = Statements::from_plan(plan);
        sort_bound::check(&self.connection, &self.sizes, plan, &statements)?;
        Ok(statements)
    }

    /// Reads a plan from one snapshot, and waits for a writer that holds the file. Also returns the version of the database
    /// that was read, if it is known.
    pub(crate) fn read(
        &mut self,
        plan: &Plan,
        deadline: Instant,
        versions: &VersionReader,
        trace: Option<&Trace>,
    ) -> Result<(JsonBody, Option<DataVersion>), ResolveError> {
        let before = versions.current();
        self.in_snapshot(deadline, |reader| {
            let body = reader.read_in_transaction(plan, trace)?;
            // The version was read before and after the snapshot was taken. If both are equal, the snapshot has that
            // version.
            Ok((body, before.filter(|version| versions.current() == Some(*version))))
        })
    }

    /// Runs a script of reads from one snapshot, and waits for a writer that holds the file.
    pub(crate) fn read_script(
        &mut self,
        script: &dyn Script,
        deadline: Instant,
    ) -> Result<Vec<StepResult>, ScriptError> {
        self.in_snapshot(deadline, |reader| run_reads(script, |plan| reader.read_in_transaction(plan, None)))
    }

    /// Runs `read` in a transaction, which takes its snapshot when it reads first.
    fn in_snapshot<T, E: From<ResolveError>>(
        &self,
        deadline: Instant,
        read: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.interrupt.begin(Budget::slow(deadline));
        let left = deadline.saturating_duration_since(Instant::now());
        self.connection.busy_timeout(left).map_err(failed)?;
        let snapshot = self.connection.unchecked_transaction().map_err(failed)?;
        let read = read(self)?;
        snapshot.commit().map_err(failed)?;
        Ok(read)
    }

    fn read_in_transaction(&self, plan: &Plan, trace: Option<&Trace>) -> Result<JsonBody, ResolveError> {
        read::read_in_transaction(&self.connection, plan, &self.lower(plan)?, trace)
    }
}
