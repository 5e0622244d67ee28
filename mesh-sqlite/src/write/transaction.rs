//! The steps of a script on the connection, in a savepoint of its transaction. Statements of SQLite block, so all futures are
//! ready.

use mesh_backend::transaction::{Errors as _, Failure, Ran, Retry, Transaction, of_cause};
use mesh_plan::backend::{ScriptError, StepResult};
use mesh_plan::error::Rule;
use mesh_plan::mutation::{Action, GuardedEntity};
use mesh_plan::{JsonBody, Key, Mutation, Plan, ResolveError, WriteError};
use mesh_sql::sqlite::{Param, Sqlite};
use mesh_sql::{Statement, WriteStep, find, find_written};
use rusqlite::{Error, ffi};

use super::connection::WriteConnection;
use super::failure::missing_references;
use crate::cells::{bind, rows};
use crate::read::{StatementTree, failed};

/// The size of the longest text whose statement is cached, in bytes. SQLite needs about ten times the size of a text.
const CACHED_TEXT: usize = 4 * 1024;

impl Transaction for WriteConnection {
    type Dialect = Sqlite;
    type Row = Key;

    async fn begin(&mut self) -> Result<(), Error> {
        self.command("SAVEPOINT script")
    }

    async fn execute(&mut self, sql: &str) -> Result<(), Error> {
        self.command(sql)
    }

    async fn run(&mut self, statements: &[&Statement<Param>], id: &Key) -> (Vec<Ran<Key>>, Option<Error>) {
        let mut all = Vec::with_capacity(statements.len());
        for statement in statements {
            match self.run_statement(statement, id) {
                Ok(ran) => all.push(ran),
                Err(error) => return (all, Some(error)),
            }
        }
        (all, None)
    }

    /// Keeps the changes of the script in the transaction.
    async fn commit(&mut self) -> Result<(), Error> {
        self.command("RELEASE script")
    }

    async fn rollback(&mut self) {
        let undo = |sql| if self.has_ended() { Ok(()) } else { self.command(sql) };
        if undo("ROLLBACK TO script").and_then(|()| undo("RELEASE script")).is_err() {
            self.rollback_transaction();
        }
    }

    fn dialect(&self) -> &Sqlite {
        &Sqlite::PLAIN
    }

    fn write_steps(&self, mutation: &Mutation) -> Vec<WriteStep<Param>> {
        let is_table = || self.reader.connection.table_exists(None, &*mutation.subject().table().name);
        let may_update = matches!(mutation.action(), Action::Update { .. } | Action::Merge { .. });
        let counts_updated = may_update && is_table().unwrap_or(false);
        mesh_sql::write_steps(mutation, &Sqlite { counts_updated })
    }

    fn create_many(&self, mutations: &[Mutation]) -> Option<(Statement<Param>, usize)> {
        if self.creates_many { mesh_sql::create_many(mutations, &Sqlite::PLAIN) } else { None }
    }

    fn key(row: &Key) -> Key {
        row.clone()
    }

    /// No other connection writes during the transaction, so a lock is only a check.
    async fn lock(&mut self, subject: &GuardedEntity, id: &Key, _: bool) -> Result<bool, Error> {
        Ok(self.run_statement(&find(subject, id, false, self.dialect()), id)?.count > 0)
    }

    async fn read(&mut self, plan: &Plan) -> Result<JsonBody, Failure<ResolveError>> {
        self.read_plan(plan).map_err(read_failure)
    }

    async fn read_records(
        &mut self,
        plan: &Plan,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
        let all = plan.for_records(ids);
        let statements = self.reader.lower(&all).map_err(read_failure)?;
        let tree = StatementTree::prepare(&self.reader.connection, &statements);
        tree.map_err(failed).and_then(|mut tree| tree.run_records(&all, ids)).map_err(read_failure)
    }

    async fn search_fields(&mut self, mutation: &Mutation, error: &Error, failed: WriteError) -> WriteError {
        self.with_missing(mutation, error, failed)
    }

    async fn is_skipped(&mut self, mutation: &Mutation) -> bool {
        let Some(find) = find_written(mutation, self.dialect()) else { return false };
        self.run_statement(&find, &Key::default()).is_ok_and(|ran| ran.count > 0)
    }
}

impl WriteConnection {
    /// Runs a statement for the record with this id.
    fn run_statement(&self, statement: &Statement<Param>, id: &Key) -> Result<Ran<Key>, Error> {
        // Short statements do not check the budget.
        self.reader.interrupt.check()?;
        let (mut cached, mut uncached);
        let prepared = if statement.sql.len() <= CACHED_TEXT {
            cached = self.reader.connection.prepare_cached(&statement.sql)?;
            &mut *cached
        } else {
            uncached = self.reader.connection.prepare(&statement.sql)?;
            &mut uncached
        };
        bind(prepared, statement.params.iter().map(|param| param.for_write(id)))?;
        if prepared.column_count() == 0 {
            return Ok(Ran { rows: Vec::new(), count: prepared.raw_execute()? as u64 });
        }
        let rows = rows(prepared)?;
        Ok(Ran { count: rows.len() as u64, rows })
    }

    /// Reads a plan. The statements of replies are cached.
    fn read_plan(&mut self, plan: &Plan) -> Result<JsonBody, ResolveError> {
        let lowered;
        let statements = match self.replies.get_mut(plan.id()) {
            Some(statements) => &*statements,
            None => {
                lowered = self.reader.lower(plan)?;
                if lowered.iter().all(|statement| statement.sql.len() <= CACHED_TEXT) {
                    self.replies.insert(plan.id().clone(), lowered.clone(), 1);
                }
                &lowered
            }
        };
        StatementTree::prepare(&self.reader.connection, statements).map_err(failed)?.run(plan)
    }

    /// Converts the error of a commit, which reports a deferred constraint. The cause is the first write that refers to
    /// a missing record, or else the last write.
    pub(super) fn commit_failed(&self, error: &Error, done: &[StepResult]) -> ScriptError {
        let is_about = |mutation: &_| !missing_references(mutation, &self.reader.connection).is_empty();
        let failed = |mutation: &_| {
            self.with_missing(mutation, error, Self::fault(error, mutation).into_error(mutation))
        };
        of_cause(done, is_about, failed).unwrap_or_else(|| crate::read::failed(error).into())
    }

    /// Adds the fields of references to missing records, which SQLite does not name.
    fn with_missing(&self, mutation: &Mutation, error: &Error, failed: WriteError) -> WriteError {
        match error {
            Error::SqliteFailure(cause, _) if cause.extended_code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
                let missing = missing_references(mutation, &self.reader.connection);
                WriteError::conflict_of(Rule::Reference, missing)
            }
            _ => failed,
        }
    }
}

/// Returns the failure of a read. One that took too long may succeed when its script runs alone.
fn read_failure(error: ResolveError) -> Failure<ResolveError> {
    match error {
        ResolveError::TimedOut => Failure { error, retry: Retry::Again },
        error => error.into(),
    }
}
