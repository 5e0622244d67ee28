//! What transactions need of an engine and its driver.

use std::error::Error as StdError;

use mesh_plan::mutation::GuardedEntity;
use mesh_plan::{JsonBody, Key, Mutation, Plan, ResolveError, WriteError};
use mesh_sql::{Dialect, ParamOf, Statement, WriteStep};

use super::attempts::{Failure, Retry};
use super::fault::Fault;

/// An engine that runs transactions.
pub trait Engine: Send + Sync {
    /// A transaction of this engine.
    type Transaction: Transaction;

    /// Takes a connection for a transaction. `fresh` asks for a new one, because others may be broken.
    fn take(&self, fresh: bool) -> impl Future<Output = Result<Self::Transaction, ResolveError>> + Send;
}

/// The meaning of the errors of an engine.
pub trait Errors {
    /// The error of the driver.
    type Error: StdError + Send + Sync + 'static;

    /// Returns whether a transaction that failed with an error may be tried again.
    fn retry(error: &Self::Error) -> Retry;

    /// Returns what an error says about a write.
    fn fault<'e>(error: &'e Self::Error, mutation: &'e Mutation) -> Fault<'e>;

    /// Converts an error that does not concern the values of a write.
    fn resolve_error(error: &Self::Error) -> ResolveError;

    /// Returns whether an error of COMMIT means that the transaction is rolled back.
    fn is_refusal(error: &Self::Error) -> bool;

    /// Returns whether an error of COMMIT names values of a write.
    fn is_about(error: &Self::Error, mutation: &Mutation) -> bool {
        let _ = (error, mutation);
        false
    }
}

/// A transaction on a connection in exclusive use. Dropping it rolls it back.
pub trait Transaction: Errors + Send + 'static {
    /// The SQL dialect of the database.
    type Dialect: Dialect;
    /// A row of a result.
    type Row: Send + Sync;

    /// The maximum number of statements that are sent at once.
    const BATCH: usize = 1;
    /// The command that checks deferred constraints, if there are any.
    const CHECK_DEFERRED: Option<&'static str> = None;

    /// Begins the transaction, at the latest with the next statement.
    fn begin(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Runs a command.
    fn execute(&mut self, sql: &str) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Runs statements for the record with this id, and returns the results of those before the first error, with that
    /// error. Statements after a failed check may run too, because the transaction is rolled back.
    fn run(
        &mut self,
        statements: &[&Statement<ParamOf<Self::Dialect>>],
        id: &Key,
    ) -> impl Future<Output = (Vec<Ran<Self::Row>>, Option<Self::Error>)> + Send;

    /// Runs one statement for the record with this id.
    fn query(
        &mut self,
        statement: &Statement<ParamOf<Self::Dialect>>,
        id: &Key,
    ) -> impl Future<Output = Result<Ran<Self::Row>, Self::Error>> + Send {
        async {
            match self.run(&[statement], id).await {
                (_, Some(error)) => Err(error),
                (ran, None) => Ok(ran.into_iter().next().unwrap_or(Ran { rows: Vec::new(), count: 0 })),
            }
        }
    }

    /// Commits the transaction.
    fn commit(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Rolls back, unless a statement is still running. If that fails, the connection is closed when it is dropped.
    fn rollback(&mut self) -> impl Future<Output = ()> + Send;

    /// Returns the SQL dialect of the database.
    fn dialect(&self) -> &Self::Dialect;

    /// Returns the statements of a write.
    fn write_steps(&self, mutation: &Mutation) -> Vec<WriteStep<ParamOf<Self::Dialect>>> {
        mesh_sql::write_steps(mutation, self.dialect())
    }

    /// Returns one statement for the leading creations that are alike, and their number.
    fn create_many(&self, mutations: &[Mutation]) -> Option<(Statement<ParamOf<Self::Dialect>>, usize)> {
        mesh_sql::create_many(mutations, self.dialect())
    }

    /// Returns the id in a row.
    fn key(row: &Self::Row) -> Key;

    /// Finds a record if it may be written, and locks it. `is_first` is whether nothing ran before in the transaction.
    fn lock(
        &mut self,
        subject: &GuardedEntity,
        id: &Key,
        is_first: bool,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Reads a plan.
    fn read(&mut self, plan: &Plan) -> impl Future<Output = Result<JsonBody, Failure<ResolveError>>> + Send;

    /// Reads the first of these plans, and possibly others that follow it. Returns the results in order.
    fn read_ahead(
        &mut self,
        plans: &[Plan],
    ) -> impl Future<Output = Vec<Result<JsonBody, Failure<ResolveError>>>> + Send {
        async {
            match plans.first() {
                Some(plan) => vec![self.read(plan).await],
                None => Vec::new(),
            }
        }
    }

    /// Reads the records with these ids in one statement.
    fn read_records(
        &mut self,
        plan: &Plan,
        ids: &[Key],
    ) -> impl Future<Output = Result<Vec<Option<JsonBody>>, Failure<ResolveError>>> + Send;

    /// Completes the error of a write that failed, with fields that the database did not name. It may end the transaction.
    fn search_fields(
        &mut self,
        mutation: &Mutation,
        error: &Self::Error,
        failed: WriteError,
    ) -> impl Future<Output = WriteError> + Send;

    /// Returns whether the record exists that a statement has not changed, although the account may change it: a trigger or
    /// rule of the database has skipped the statement. It may end the transaction.
    fn is_skipped(&mut self, mutation: &Mutation) -> impl Future<Output = bool> + Send {
        let _ = mutation;
        std::future::ready(false)
    }

    /// Waits until the committed write has the effects that its client was promised.
    fn after_commit(self) -> impl Future<Output = ()> + Send
    where
        Self: Sized,
    {
        drop(self);
        std::future::ready(())
    }
}

/// The result of a statement.
#[derive(Debug)]
pub struct Ran<R> {
    /// The rows that the statement returned.
    pub rows: Vec<R>,
    /// The number of these rows. For a statement that returns none, the number of rows that it found.
    pub count: u64,
}
