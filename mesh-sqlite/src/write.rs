//! Writes: one connection, whose transactions have one write or several that waited for it. `SPEC §11`
//!
//! SQLite allows one writer at a time, so a second connection would only block a thread inside SQLite. Writes of this
//! process queue for the connection instead; those of other processes are serialized by SQLite's lock. The file is kept
//! in WAL mode, in which readers and the writer do not block each other.

pub(crate) mod audit;
mod failure;
mod group;
pub(crate) mod probe;
mod queue;
mod script;
#[cfg(test)]
mod tests;
mod wal;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::backend::{Cells as _, LocalGenerations, PlanId, Script, ScriptError, StepResult};
use mesh_plan::{
    Action, BoxFuture, Context, JsonBody, Key, Mutation, Mutator, Outcome, ResolveError, Rule, Value,
    ValueRef, WriteError, Written,
};
use mesh_sql::sqlite::{self, Param, Statements};
use mesh_sql::{Part, Step};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, Row, Statement, ffi};

use crate::cells::{Bound, SqliteRow};
use crate::database::Database;
use crate::database::current_file::CurrentFile;
use crate::error::{OpenError, open_error};
use crate::file::FileIdentity;
use crate::file::journal_mode::switch_to_wal;
use crate::functions::add_functions;
use crate::pool::interrupt::{Budget, Interrupt};
use crate::pool::{self, DEFAULT_TIMEOUT, OPEN_TIMEOUT, Reader};
use crate::read::sort_bound::{self, TableSizes};
use crate::read::{self, StatementTree};
use failure::failed;
use queue::{Job, Queue, ResultSender};
use wal::WriteAheadLog;

/// The number of prepared statements that the connection caches.
const STATEMENTS: usize = 256;
/// The number of reply plans whose statements the connection caches.
const REPLIES: usize = 64;
/// The size of the longest text whose statement is cached, in bytes. SQLite needs about ten times the size of a text.
const CACHED_TEXT: usize = 4 * 1024;
/// The time limit for waiting for other processes when the log is emptied.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes to a SQLite file. Clones share one connection.
#[derive(Clone)]
pub struct Writer {
    connection: Arc<Mutex<WriteConnection>>,
    queue: Arc<Queue>,
    file: Arc<CurrentFile>,
    log: Arc<WriteAheadLog>,
}

impl Database {
    /// Opens the same file for writing.
    ///
    /// The file is switched to WAL mode, in which readers never wait for a writer, and stays in it when it is closed. If the
    /// switch is not possible, because other processes hold the file or its file system cannot share memory, writes work
    /// too, but readers wait during each commit.
    ///
    /// # Errors
    /// The file or its folder cannot be written.
    pub fn writer(&self) -> Result<Writer, OpenError> {
        let path = &self.path();
        let unwritable =
            |error: rusqlite::Error| open_error(path, format!("it cannot be written to: {error}"));
        let connection = WriteConnection::open(path, self.file.last().pool.settings.memory_map);
        let connection = Arc::new(Mutex::new(connection.map_err(unwritable)?));
        let other = Arc::downgrade(&connection);
        self.file.on_replaced(move || {
            let Some(connection) = other.upgrade() else { return Ok(()) };
            let Some(mut connection) = connection.try_lock() else { return Err("a write is under way") };
            connection.reopen_if_replaced().map_err(|_| "it cannot be written")
        });
        let (queue, file) = (Arc::default(), Arc::clone(&self.file));
        Ok(Writer { connection, queue, file, log: Arc::new(WriteAheadLog::new(path)) })
    }
}

impl Writer {
    async fn write(&self, mutation: Mutation, context: Context) -> Outcome<Written, WriteError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let gate = context.commit_gate.unwrap_or_default();
        let written = self
            .queue
            .run(&self.connection, deadline, |done| Job::Write {
                mutation: Box::new(mutation),
                gate,
                done: ResultSender::new(done),
            })
            .await;
        self.empty_log_if_long();
        written
    }

    async fn run_script(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Outcome<Vec<StepResult>, ScriptError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let gate = context.commit_gate.unwrap_or_default();
        let job = |done| Job::Script { script, gate, done };
        let results = self.queue.run(&self.connection, deadline, job).await;
        self.empty_log_if_long();
        results
    }

    fn empty_log_if_long(&self) {
        if self.log.is_long_after_write() {
            self.empty_log();
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("log", &self.log).finish_non_exhaustive()
    }
}

impl Mutator for Writer {
    fn mutate(&self, mutation: Mutation, context: Context) -> BoxFuture<'_, Outcome<Written, WriteError>> {
        Box::pin(self.write(mutation, context))
    }

    fn transact(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Option<BoxFuture<'_, Outcome<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(self.run_script(script, context)))
    }
}

/// The connection for writes to one file.
pub(crate) struct WriteConnection {
    file: FileIdentity,
    /// Whether the file is mapped into memory.
    is_mapped: bool,
    /// The connection, which also reads what it has written.
    reader: Reader,
    /// The statements of light replies by their plans.
    replies: LocalGenerations<PlanId, Statements>,
}

impl WriteConnection {
    fn open(path: &Path, is_mapped: bool) -> rusqlite::Result<Self> {
        let mut file = FileIdentity::new(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(OPEN_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "foreign_keys", true)?;
        pool::map_file(&connection, is_mapped)?;
        // SQLite opens a read-only file without an error. Without this check, the first write would fail.
        if connection.is_readonly(rusqlite::MAIN_DB)? {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None));
        }
        connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
        let mode = switch_to_wal(&connection, OPEN_TIMEOUT);
        if !mode.as_ref().is_ok_and(|mode| mode.eq_ignore_ascii_case("wal")) {
            tracing::warn!("the database could not be switched to WAL mode: reads wait for each commit");
        }
        let interrupt = Interrupt::new(&mut connection)?;
        add_functions(&connection, &interrupt)?;
        // This records the identity of the log, which exists since the mode was changed.
        file.is_current();
        let reader = Reader { connection, interrupt, sizes: TableSizes::default() };
        let replies = LocalGenerations::bounded(REPLIES, REPLIES);
        Ok(Self { file, is_mapped, reader, replies })
    }

    /// Opens the file at the path if the open one was replaced. Writes to a file without a name would be lost.
    pub(crate) fn reopen_if_replaced(&mut self) -> Result<(), ResolveError> {
        if self.file.is_current() {
            return Ok(());
        }
        self.empty_log();
        self.file.check_successor().map_err(|_| ResolveError::Busy)?;
        *self = Self::open(self.file.path(), self.is_mapped).map_err(read::failed)?;
        tracing::warn!(
            "the database at {} was replaced; writing to the new file",
            self.file.path().display()
        );
        Ok(())
    }

    /// Moves the contents of the log into the file, which is then complete without the log.
    fn empty_log(&self) {
        self.reader.interrupt.begin(Budget::default());
        let _ = self.reader.connection.busy_timeout(CLOSE_TIMEOUT);
        if let Err(error) =
            self.reader.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        {
            tracing::warn!("the write-ahead log could not be written back to the database: {error}");
        }
    }

    /// Reads the reply of a write in its transaction; `None` if it has none.
    fn read_reply(&mut self, mutation: &Mutation, id: &Key) -> Result<Option<JsonBody>, ResolveError> {
        let Some(plan) = mutation.reply(id) else { return Ok(None) };
        let lowered;
        let statements = match self.replies.get_mut(plan.id()) {
            Some(statements) => &*statements,
            None => {
                lowered = Statements::from_plan(&plan);
                sort_bound::check(&self.reader, &plan, &lowered)?;
                if lowered.iter().all(|statement| statement.sql.len() <= CACHED_TEXT) {
                    self.replies.insert(plan.id().clone(), lowered.clone(), 1);
                }
                &lowered
            }
        };
        let mut tree = StatementTree::prepare(&self.reader.connection, statements).map_err(read::failed)?;
        tree.run(&plan).map(Some)
    }

    /// Begins a transaction in the file that is at the path.
    fn begin(&mut self, deadline: Instant) -> Result<(), WriteError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ResolveError::Busy.into());
        }
        self.reopen_if_replaced()?;
        // Repeats a rollback that has failed.
        self.rollback();
        self.reader.interrupt.begin(Budget::until(deadline));
        self.reader.connection.busy_timeout(left).map_err(read::failed)?;
        self.execute("BEGIN IMMEDIATE").map_err(read::failed)?;
        Ok(())
    }

    /// Rolls back the transaction, unless an error has done so.
    fn rollback(&self) {
        if !self.reader.connection.is_autocommit() {
            self.reader.interrupt.begin(Budget::default());
            let _ = self.execute("ROLLBACK");
        }
    }

    /// Executes a statement that begins or ends the transaction.
    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.reader.connection.prepare_cached(sql)?.raw_execute().map(drop)
    }

    /// Runs the statements of a write, inside the transaction.
    fn run_steps(&self, mutation: &Mutation) -> Result<Written, WriteError> {
        self.run_each(mutation, &self.steps(mutation))
    }

    /// Returns the statements of a write.
    fn steps(&self, mutation: &Mutation) -> Vec<Step<Param>> {
        let is_table = || self.reader.connection.table_exists(None, &*mutation.subject().table().name);
        let may_update = matches!(mutation.action(), Action::Update { .. } | Action::Merge { .. });
        sqlite::write_steps(mutation, may_update && is_table().unwrap_or(false))
    }

    /// Runs the statements that [`WriteConnection::steps`] has returned for a write.
    fn run_each(&self, mutation: &Mutation, steps: &[Step<Param>]) -> Result<Written, WriteError> {
        let connection = &self.reader.connection;
        let mut id = mutation.expected_id();
        let mut found = false;
        for step in steps {
            if !step.part.is_run(found) {
                continue;
            }
            let (rows, first) = run_step(connection, step, &id)
                .map_err(|error| failed(error, step.part.of(mutation), connection))?;
            found |= step.part == Part::Find && rows > 0;
            if rows == 0
                && let Some(error) = step.failure(mutation)
            {
                let written = step.part.of(mutation);
                let is_skipped = step.may_be_skipped() && self.exists(written);
                return Err(if is_skipped { written.skipped() } else { error });
            }
            // Several records may be read with the same id ([`mesh_plan::backend::canonical`]).
            if (step.returns_id || step.counts_rows) && rows > 1 {
                return Err(WriteError::conflict(Rule::Unique));
            }
            if step.returns_id {
                id = written_id(first, mutation)?;
            }
        }
        let created = matches!(mutation.action(), Action::Merge { .. }) && !found;
        Ok(Written { id, body: None, created })
    }
}

impl WriteConnection {
    /// Returns whether the record exists that a statement of a write has not changed.
    fn exists(&self, mutation: &Mutation) -> bool {
        let Some(find) = sqlite::find_written(mutation) else { return false };
        let prepared = self.reader.connection.prepare(&find.sql);
        let values = find.params.iter().map(|param| param.value());
        prepared.and_then(|mut find| run_statement(&mut find, values)).is_ok_and(|(rows, _)| rows > 0)
    }
}

/// Empties the log, which read-only connections that are closed later cannot do.
impl Drop for WriteConnection {
    fn drop(&mut self) {
        self.empty_log();
    }
}

/// Returns the id that a statement has returned, or a conflict if no record can have it.
fn written_id(id: Key, mutation: &Mutation) -> Result<Key, WriteError> {
    if id.is_impossible() {
        let fields = mutation.written().null_fields(&id);
        return Err(WriteError::conflict_of(Rule::NotEmpty, fields));
    }
    Ok(id)
}

/// Runs a step. Returns the number of rows and the cells of the first row. `id` is the id that an earlier step has
/// returned.
fn run_step(connection: &Connection, step: &Step<Param>, id: &Key) -> rusqlite::Result<(usize, Key)> {
    let sql = &step.statement.sql;
    let values = step.statement.params.iter().map(|param| param.for_write(id));
    let run = |statement: &mut Statement<'_>| {
        if !step.counts_rows {
            return run_statement(statement, values);
        }
        bind(statement, values)?;
        Ok((statement.raw_execute()?, Key::default()))
    };
    if sql.len() <= CACHED_TEXT {
        run(&mut *connection.prepare_cached(sql)?)
    } else {
        run(&mut connection.prepare(sql)?)
    }
}

/// Runs a statement that returns rows.
fn run_statement<'v>(
    statement: &mut Statement<'_>,
    values: impl Iterator<Item = Option<&'v Value>>,
) -> rusqlite::Result<(usize, Key)> {
    bind(statement, values)?;
    let (mut count, mut first) = (0, Key::default());
    let width = statement.column_count();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if count == 0 {
            first = key_of(row, width);
        }
        count += 1;
    }
    Ok((count, first))
}

/// Binds the values of the parameters of a statement.
fn bind<'v>(
    statement: &mut Statement<'_>,
    values: impl Iterator<Item = Option<&'v Value>>,
) -> rusqlite::Result<()> {
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, Bound(value.map_or(ValueRef::Null, Value::as_ref)))?;
    }
    Ok(())
}

/// Reads an id of `width` columns from a row.
fn key_of(row: &Row<'_>, width: usize) -> Key {
    let row = SqliteRow::new(row, 0);
    (0..width).map(|column| row.cell(column).to_value()).collect()
}
