//! Who may read now? Connections opened for reading, kept with their prepared statements.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::alarm::{Alarm, Budget};
use super::read::{self, failed};
use super::stamp::{Stamp, Stamps};
use super::statements::StatementCache;
use super::sum::Sum;
use super::turns::Turns;
use mesh_plan::sql::sqlite::functions;
use mesh_plan::{JsonBody, Pattern, Plan, ResolveError, Usage};
use rusqlite::config::DbConfig;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// Statements that a connection keeps beside those of whole plans.
const STATEMENTS: usize = 128;
/// Steps of SQLite's virtual machine between two looks at the clock, some ten microseconds.
const STEPS_PER_LOOK: i32 = 1_000;
/// How much of the file is mapped into memory. Reading through the map spares a copy of each page.
const MAPPED_BYTES: i64 = 1 << 40;

/// Idle connections. A read takes one and gives it back; there are never more than reads at a time.
pub(super) struct Pool {
    path: PathBuf,
    /// Whether connections map the file into memory.
    mapped: AtomicBool,
    idle: Mutex<Vec<Reader>>,
    turns: Arc<Turns>,
    stamps: Stamps,
    statements: StatementCache,
}

impl Pool {
    /// Opens the file once, which shows whether it can be read.
    pub(super) fn open(path: &Path, mapped: bool) -> rusqlite::Result<Self> {
        let first = Reader::open(path, mapped)?;
        first.connection().query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self {
            path: path.to_owned(),
            mapped: AtomicBool::new(mapped),
            idle: Mutex::new(vec![first]),
            turns: Turns::new(),
            stamps: Stamps::new(path, connect(path)?),
            statements: StatementCache::new(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether connections map the file into memory.
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped.load(Ordering::Relaxed)
    }

    /// Has connections map the file or not, beginning with the next that is opened; none is kept of before.
    pub(super) fn map_files(&self, on: bool) {
        if self.mapped.swap(on, Ordering::Relaxed) != on {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// The state that the database is in.
    pub(super) fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// The statements of plans.
    pub(super) fn statements(&self) -> &StatementCache {
        &self.statements
    }

    /// An idle connection, or a new one.
    pub(super) fn take(&self) -> rusqlite::Result<Reader> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Reader::open(&self.path, self.is_mapped()), Ok)
    }

    /// Gives a connection back, unless it is still inside a transaction, which it should never be.
    pub(super) fn give(&self, reader: Reader) {
        if reader.connection.is_autocommit() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        }
    }

    /// Reads on threads of their own.
    pub(super) fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    /// What of it is in use.
    pub(super) fn usage(&self) -> Usage {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).len();
        let mut usage = Usage { idle, ..Usage::default() };
        self.turns.fill(&mut usage);
        usage
    }
}

/// A connection that can only read, with an alarm that interrupts what runs too long.
pub(super) struct Reader {
    connection: Connection,
    alarm: Arc<Alarm>,
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

impl Reader {
    pub(super) fn open(path: &Path, mapped: bool) -> rusqlite::Result<Self> {
        let mut connection = connect(path)?;
        connection.pragma_update(None, "query_only", true)?;
        // Otherwise SQLite looks at bound values, a limit for instance, when it plans, and so prepares a
        // statement again each time another is bound: a quarter of the work of a nested read.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "mmap_size", if mapped { MAPPED_BYTES } else { 0 })?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        add_functions(&connection)?;
        let alarm = Arc::new(Alarm::new());
        let handler = Arc::clone(&alarm);
        connection.progress_handler(STEPS_PER_LOOK, Some(move || handler.is_past()))?;
        Ok(Self { connection, alarm })
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn alarm(&self) -> &Arc<Alarm> {
        &self.alarm
    }

    /// Reads a plan in one transaction, so that all its rows are of one moment. Also says in which state of the
    /// database, where that can be told.
    pub(super) fn read(
        &self,
        plan: &Plan,
        budget: Budget,
        pool: &Pool,
    ) -> Result<(JsonBody, Option<Stamp>), ResolveError> {
        let statements = pool.statements.of_plan(plan);
        self.alarm.begin(budget);
        let before = pool.stamps.now();
        self.connection.execute_batch("BEGIN").map_err(failed)?;
        let result = read::inside(&self.connection, plan, &statements);
        // The snapshot was taken between two stamps; where they are equal it is of that state.
        let state = before.filter(|stamp| pool.stamps.now() == Some(*stamp));
        let ended = self.connection.execute_batch("COMMIT").map_err(failed);
        result.and_then(|body| ended.map(|()| (body, state)))
    }

    /// How long a read waits for a writer that holds the file.
    pub(super) fn wait_for_writers(&mut self, time: Duration) -> rusqlite::Result<()> {
        self.connection.busy_timeout(time)
    }
}

/// The functions that statements of plans call.
pub(super) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    for (name, ignore_case) in [(functions::LIKE, false), (functions::ILIKE, true)] {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        connection.create_scalar_function(name, 2, flags, move |call| like(call, ignore_case))?;
    }
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_aggregate_function(functions::SUM, 1, flags, Sum)
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
