//! What transactions need of an engine and its driver.

use std::error::Error as StdError;

use mesh_plan::sql::{Statement, Step};
use mesh_plan::{JsonBody, Key, Mutation, Plan, ResolveError, Subject, WriteError};

use super::attempts::Failure;
use super::fault::Fault;

/// A connection in exclusive use, on which a transaction runs. Dropping it rolls the transaction back.
pub trait Connection: Send + Sync + 'static {
    /// A parameter of a statement.
    type Param: Send + Sync;
    /// A row of a result.
    type Row: Send + Sync;
    /// The error of the driver.
    type Error: StdError + Send + Sync + 'static;

    /// The maximum number of statements that are sent at once.
    const BATCH: usize = 1;

    /// Begins a transaction, at the latest with the next statement.
    fn begin(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Runs a command that sets a savepoint, at the latest with the next statement.
    fn savepoint(&mut self, sql: &'static str) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Runs a command.
    fn execute(&mut self, sql: &str) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Runs statements for the record with this id, and returns the results of those before the first error, with that
    /// error. Statements after a failed check may run too, because the transaction is rolled back.
    fn run(
        &mut self,
        statements: &[&Statement<Self::Param>],
        id: &Key,
    ) -> impl Future<Output = (Vec<Ran<Self::Row>>, Option<Self::Error>)> + Send;

    /// Commits the transaction.
    fn commit(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Rolls the transaction back, unless a statement is still running. If that fails, dropping the connection closes it.
    fn rollback(&mut self) -> impl Future<Output = ()> + Send;
}

/// The result of a statement.
#[derive(Debug)]
pub struct Ran<R> {
    /// The rows that the statement returned.
    pub rows: Vec<R>,
    /// The number of these rows. For a statement that returns none, the number of rows that it found.
    pub count: u64,
}

/// Whether a transaction that failed may succeed if it is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It may: it has lost against a concurrent transaction.
    Again,
    /// It may on a new connection: the used one is broken or out of date.
    OnNewConnection,
    /// It would fail too.
    Never,
}

impl Retry {
    /// Returns the failure of an attempt with an error.
    pub fn failure<E>(self, error: E) -> Failure<E> {
        match self {
            Self::Again => Failure::Conflict(error),
            Self::OnNewConnection => Failure::Stale(error),
            Self::Never => Failure::Final(error),
        }
    }
}

/// The parameter type of an engine's statements.
type ParamOf<E> = <<E as Engine>::Connection as Connection>::Param;
/// The row type of an engine's driver.
type RowOf<E> = <<E as Engine>::Connection as Connection>::Row;
/// The error type of an engine's driver.
type ErrorOf<E> = <<E as Engine>::Connection as Connection>::Error;

/// An engine: its connections, its SQL, and what its errors mean.
pub trait Engine: Send + Sync {
    /// A connection for a transaction.
    type Connection: Connection;

    /// The command that checks deferred constraints, if there are any.
    const CHECK_DEFERRED: Option<&'static str> = None;

    /// Takes a connection. `fresh` asks for a new one, because others may be broken.
    fn take(&self, fresh: bool) -> impl Future<Output = Result<Self::Connection, ResolveError>> + Send;

    /// Returns the statements of a write.
    fn write_steps(&self, mutation: &Mutation) -> Vec<Step<ParamOf<Self>>>;

    /// Returns one statement for the leading creations that are alike, and their number.
    fn create_many(&self, mutations: &[Mutation]) -> Option<(Statement<ParamOf<Self>>, usize)>;

    /// Returns the statement that finds those of the new records with these ids that policies permit; `None` if all are
    /// permitted.
    fn permitted(&self, subject: &Subject, ids: &[Key]) -> Option<Statement<ParamOf<Self>>>;

    /// Returns whether a statement needs the id of the written record.
    fn uses_id(statement: &Statement<ParamOf<Self>>) -> bool;

    /// Returns the id in a row.
    fn key(row: &RowOf<Self>) -> Key;

    /// Finds a record if it may be written, and locks it. `is_first` is whether nothing ran before in the transaction.
    fn lock(
        &self,
        connection: &mut Self::Connection,
        subject: &Subject,
        id: &Key,
        is_first: bool,
    ) -> impl Future<Output = Result<bool, ErrorOf<Self>>> + Send;

    /// Reads a plan inside the transaction.
    fn read(
        &self,
        connection: &mut Self::Connection,
        plan: &Plan,
    ) -> impl Future<Output = Result<JsonBody, Failure<ResolveError>>> + Send;

    /// Reads the records with these ids in one statement, inside the transaction.
    fn read_records(
        &self,
        connection: &mut Self::Connection,
        plan: &Plan,
        ids: &[Key],
    ) -> impl Future<Output = Result<Vec<Option<JsonBody>>, Failure<ResolveError>>> + Send;

    /// Returns whether a transaction that failed with an error may be tried again.
    fn retry(error: &ErrorOf<Self>) -> Retry;

    /// Returns what an error says about a write.
    fn fault<'e>(error: &'e ErrorOf<Self>, mutation: &'e Mutation) -> Fault<'e>;

    /// Converts an error that does not concern the values of a write.
    fn resolve_error(error: &ErrorOf<Self>) -> ResolveError;

    /// Returns whether an error of COMMIT means that the transaction is rolled back.
    fn is_refusal(error: &ErrorOf<Self>) -> bool;

    /// Returns whether an error of COMMIT names values of a write.
    fn is_about(error: &ErrorOf<Self>, mutation: &Mutation) -> bool {
        let _ = (error, mutation);
        false
    }

    /// Completes the error of a write that failed, with fields that the database did not name. It may end the transaction.
    fn search_fields(
        &self,
        connection: &mut Self::Connection,
        mutation: &Mutation,
        error: &ErrorOf<Self>,
        failed: WriteError,
    ) -> impl Future<Output = WriteError> + Send;

    /// Returns whether the record exists that a statement has not changed, although the account may change it: a trigger or
    /// rule of the database has skipped the statement. It may end the transaction.
    fn is_skipped(
        &self,
        connection: &mut Self::Connection,
        mutation: &Mutation,
    ) -> impl Future<Output = bool> + Send {
        let _ = (connection, mutation);
        std::future::ready(false)
    }

    /// Waits until the committed write has the effects that its client was promised.
    fn after_commit(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send {
        drop(connection);
        std::future::ready(())
    }
}
