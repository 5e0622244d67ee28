//! Writes: one connection, and one transaction for each write. `SPEC §11`
//!
//! SQLite allows one writer at a time, so a second connection would only block a thread inside SQLite. Writes of this
//! process queue for the connection instead; those of other processes are serialized by SQLite's lock. The file is kept
//! in WAL mode, in which readers and the writer do not block each other.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mesh_plan::sql::Step;
use mesh_plan::sql::sqlite::{self, Param};
use mesh_plan::{BoxFuture, Context, Mutation, Mutator, ResolveError, Rule, Value, WriteError, WriteOutcome};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use tokio::sync::Semaphore;

use crate::cells::{self, Bound};
use crate::database::Database;
use crate::error::{Cause, OpenError};
use crate::file::{self, FileId, log_of};
use crate::functions::add_functions;
use crate::pool::DEFAULT_TIMEOUT;
use crate::read;
use crate::statements::StatementCache;

/// Prepared statements that the connection keeps.
const STATEMENTS: usize = 256;
/// Steps of SQLite's virtual machine between two looks at the clock.
const STEPS_PER_LOOK: i32 = 1_000;
/// How long opening waits for others who hold the file.
const OPENING: Duration = Duration::from_secs(5);
/// How long closing waits for them.
const CLOSING: Duration = Duration::from_secs(1);

/// Writes to a SQLite file. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Writer {
    turn: Arc<Semaphore>,
    writer: Arc<Mutex<WriteConnection>>,
}

impl Database {
    /// Opens the same file for writing.
    ///
    /// The file is switched to WAL mode, and stays in it when it is closed: only there readers never wait
    /// for a writer. Where the switch is not possible (others hold the file, or it lies where no memory can
    /// be shared) writing works all the same, and readers wait for the moment of each commit.
    ///
    /// # Errors
    /// When the file, or the folder it is in, may not be written.
    pub fn writer(&self) -> Result<Writer, OpenError> {
        let path = &self.path();
        let writer = WriteConnection::open(path).map_err(|error| OpenError {
            path: path.display().to_string(),
            cause: Cause::Unwritable(error),
        })?;
        let writer = Arc::new(Mutex::new(writer));
        let other = Arc::downgrade(&writer);
        self.file.on_replaced(move || {
            let Some(writer) = other.upgrade() else { return Ok(()) };
            let Ok(mut writer) = writer.try_lock() else { return Err("a write is under way") };
            writer.renew().map_err(|_| "it cannot be written")
        });
        Ok(Writer { turn: Arc::new(Semaphore::new(1)), writer })
    }
}

impl Writer {
    async fn write(&self, mutation: Mutation, context: Context) -> Result<WriteOutcome, WriteError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let turn = tokio::time::timeout_at(deadline.into(), Arc::clone(&self.turn).acquire_owned()).await;
        let turn = turn.map_err(|_| ResolveError::Busy)?.map_err(|_| ResolveError::Busy)?;
        let writer = Arc::clone(&self.writer);
        let writing = tokio::task::spawn_blocking(move || {
            // Whoever panicked left no transaction behind: `Writer::run` begins by ending what is open.
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            let result =
                writer.renew().map_err(WriteError::Failed).and_then(|()| writer.run(&mutation, deadline));
            drop(turn);
            result
        });
        writing.await.map_err(|error| ResolveError::Panicked(error.to_string()))?
    }
}

impl Mutator for Writer {
    fn mutate(
        &self,
        mutation: Mutation,
        context: Context,
    ) -> BoxFuture<'_, Result<WriteOutcome, WriteError>> {
        Box::pin(self.write(mutation, context))
    }
}

/// The connection, with an alarm that interrupts what runs too long.
#[derive(Debug)]
pub(crate) struct WriteConnection {
    path: PathBuf,
    /// Which file was opened.
    id: Option<FileId>,
    /// Its log, once there is one.
    log: Option<FileId>,
    connection: Connection,
    statements: StatementCache,
    start: Instant,
    /// When the current write has to end, in nanoseconds after `start`.
    deadline: Arc<AtomicU64>,
}

impl WriteConnection {
    fn open(path: &Path) -> rusqlite::Result<Self> {
        let id = FileId::of(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(OPENING)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "foreign_keys", true)?;
        // A file that may only be read shows it here rather than at the first write. SQLite opens it all the same,
        // and begins no more than a read then.
        if connection.is_readonly(rusqlite::MAIN_DB)? {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None));
        }
        connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
        let mode: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
        if !mode.as_ref().is_ok_and(|mode| mode.eq_ignore_ascii_case("wal")) {
            tracing::warn!("the database could not be switched to WAL mode: reads wait for each commit");
        }
        add_functions(&connection)?;
        let (start, deadline) = (Instant::now(), Arc::new(AtomicU64::new(u64::MAX)));
        let end = Arc::clone(&deadline);
        let is_past = move || start.elapsed().as_nanos() >= u128::from(end.load(Ordering::Relaxed));
        connection.progress_handler(STEPS_PER_LOOK, Some(is_past))?;
        let log = FileId::of(&log_of(path));
        Ok(Self {
            path: path.to_owned(),
            id,
            log,
            connection,
            statements: StatementCache::new(),
            start,
            deadline,
        })
    }

    /// Opens the file that lies at the path, where that is another one by now. What was written to a file that
    /// has no name any more would be lost.
    pub(crate) fn renew(&mut self) -> Result<(), ResolveError> {
        let there = FileId::of(&self.path);
        if there.is_some() && there == self.id {
            self.log = self.log.or_else(|| FileId::of(&log_of(&self.path)));
            return Ok(());
        }
        self.empty_log();
        file::is_whole(&self.path, self.log).map_err(|_| ResolveError::Busy)?;
        *self = Self::open(&self.path).map_err(read::failed)?;
        tracing::warn!(
            "the database at {} is another file now, which is written instead",
            self.path.display()
        );
        Ok(())
    }

    /// Puts what is still in the log into the file, so that the file alone is the database.
    fn empty_log(&self) {
        self.set_alarm(None);
        let _ = self.connection.busy_timeout(CLOSING);
        if let Err(error) = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!("the log of the database could not be written back to it: {error}");
        }
    }

    /// Carries out a write, wholly or not at all.
    fn run(&self, mutation: &Mutation, deadline: Instant) -> Result<WriteOutcome, WriteError> {
        let connection = &self.connection;
        self.set_alarm(Some(deadline));
        let result = self.roll_back().and_then(|()| {
            let left = deadline.saturating_duration_since(Instant::now());
            connection.busy_timeout(left)?;
            connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])
        });
        let result = result.map_err(|error| failed(error, mutation)).and_then(|_| {
            let written = self.steps(mutation)?;
            if Instant::now() >= deadline {
                return Err(ResolveError::TimedOut.into());
            }
            let commit = connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
            commit.map_err(|error| failed(error, mutation))?;
            Ok(written)
        });
        if result.is_err() {
            self.set_alarm(None);
            self.roll_back().map_err(WriteError::new)?;
        }
        result
    }

    fn set_alarm(&self, deadline: Option<Instant>) {
        let nanos = deadline.map(|it| it.saturating_duration_since(self.start).as_nanos());
        let nanos = nanos.and_then(|it| u64::try_from(it).ok()).unwrap_or(u64::MAX);
        self.deadline.store(nanos, Ordering::Relaxed);
    }

    /// The statements of a write, and the read of its reply, inside the transaction.
    fn steps(&self, mutation: &Mutation) -> Result<WriteOutcome, WriteError> {
        let connection = &self.connection;
        let mut id = mutation.expected_id();
        for step in sqlite::write_steps(mutation) {
            let (rows, first) = run_step(connection, &step, &id).map_err(|error| failed(error, mutation))?;
            if rows == 0
                && let Some(error) = step.failure(mutation)
            {
                return Err(error);
            }
            if step.returns_id {
                if rows > 1 {
                    return Err(WriteError::conflict(Rule::Unique));
                }
                id = first;
                if id == Value::Null {
                    let subject = mutation.written();
                    let fields =
                        subject.field_of_column(subject.id_column()).into_iter().map(str::to_owned).collect();
                    return Err(WriteError::Conflict { rule: Rule::NotEmpty, fields });
                }
            }
        }
        let body =
            mutation.reply(&id).map(|plan| read::inside(connection, &plan, &self.statements.of_plan(&plan)));
        let body = body.transpose()?;
        let mut written = WriteOutcome::new(id);
        written.body = body;
        Ok(written)
    }

    /// Ends a transaction that is still open.
    fn roll_back(&self) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.connection.prepare_cached("ROLLBACK")?.execute([]).map(|_| ())
    }
}

/// The readers, which may be closed last, could not empty the log.
impl Drop for WriteConnection {
    fn drop(&mut self) {
        self.empty_log();
    }
}

/// How many rows the step returned, and the first cell of the first one.
fn run_step(connection: &Connection, step: &Step<Param>, id: &Value) -> rusqlite::Result<(usize, Value)> {
    let mut statement = connection.prepare_cached(&step.statement.sql)?;
    for (index, param) in step.statement.params.iter().enumerate() {
        let value = match param {
            Param::Value(value) => value,
            // A write has no parents, and its conditions no names.
            _ => id,
        };
        statement.raw_bind_parameter(index + 1, Bound(value.as_ref()))?;
    }
    let (mut count, mut first) = (0, Value::Null);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if count == 0 {
            first = cells::value(row, 0);
        }
        count += 1;
    }
    Ok((count, first))
}

/// What a failure of SQLite means for a write.
fn failed(error: rusqlite::Error, mutation: &Mutation) -> WriteError {
    let rusqlite::Error::SqliteFailure(cause, message) = &error else {
        return WriteError::new(error);
    };
    let rule = match (cause.code, cause.extended_code) {
        (ErrorCode::TypeMismatch | ErrorCode::TooBig, _) => return WriteError::Value,
        (ErrorCode::ConstraintViolation, code) => match code {
            ffi::SQLITE_CONSTRAINT_UNIQUE
            | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            | ffi::SQLITE_CONSTRAINT_ROWID => Rule::Unique,
            ffi::SQLITE_CONSTRAINT_NOTNULL => Rule::NotEmpty,
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Rule::Reference,
            ffi::SQLITE_CONSTRAINT_CHECK => Rule::Check,
            ffi::SQLITE_CONSTRAINT_DATATYPE => return WriteError::Value,
            _ => Rule::Other,
        },
        // There is no code of its own for a column that the database fills in itself.
        (_, ffi::SQLITE_ERROR)
            if message.as_deref().is_some_and(|text| text.contains(" generated column ")) =>
        {
            return WriteError::Value;
        }
        _ => return read::failed(error).into(),
    };
    WriteError::Conflict { rule, fields: fields_in(message.as_deref().unwrap_or_default(), mutation) }
}

/// The fields that SQLite's message names: `UNIQUE constraint failed: users.email, users.tenant`.
fn fields_in(message: &str, mutation: &Mutation) -> Vec<String> {
    let Some((_, names)) = message.split_once(" constraint failed: ") else { return Vec::new() };
    let subjects = [Some(mutation.subject()), mutation.action().other().map(|other| &other.subject)];
    let field = |name: &str| {
        subjects.into_iter().flatten().find_map(|subject| {
            let column = name.strip_prefix(subject.table().name.as_str())?.strip_prefix('.')?;
            subject.field_of_column(column).map(str::to_owned)
        })
    };
    names.split(", ").filter_map(field).collect()
}
