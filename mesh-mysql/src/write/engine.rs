//! What MySQL and MariaDB do otherwise than other engines in a transaction.

use std::sync::Arc;

use mesh_backend::transaction::{Connection as _, Engine, Failure, Fault, Retry};
use mesh_plan::sql::mysql::{self, Param, ReadStatement};
use mesh_plan::sql::{SetReference, Statement, Step};
use mesh_plan::{JsonBody, Key, Mutation, Plan, ResolveError, Rule, Subject, WriteError};
use mysql_async::{Error, Row};

use super::connection::Transaction;
use super::failure;
use crate::cells::{self, LevelRows, NodeRowSource};
use crate::pool::statements::bytes_of_tables;
use crate::pool::{Pool, PoolError, code, is_one_of};
use crate::read;
use crate::read::sort_bound::SortBound;
use crate::read::statement_cache::StatementCache;
use mesh_backend::pool::RowBudget;

/// The servers of a database.
#[derive(Clone)]
pub(super) struct MySqlEngine {
    pub(super) pool: Arc<Pool>,
    pub(super) statements: Arc<StatementCache>,
    pub(super) sort_bound: Arc<SortBound>,
}

impl Engine for MySqlEngine {
    type Connection = Transaction;

    async fn take(&self, fresh: bool) -> Result<Transaction, ResolveError> {
        Ok(Transaction(self.pool.take(fresh).await?))
    }

    fn write_steps(&self, mutation: &Mutation) -> Vec<Step<Param>> {
        mysql::write_steps(mutation, self.statements.product)
    }

    fn create_many(&self, mutations: &[Mutation]) -> Option<(Statement<Param>, usize)> {
        mysql::create_many(mutations, self.statements.product)
    }

    fn permitted(&self, subject: &Subject, ids: &[Key]) -> Option<Statement<Param>> {
        mysql::permitted(subject, ids, self.statements.product)
    }

    /// Statements run one after the other, each with the id that is known then.
    fn uses_id(_: &Statement<Param>) -> bool {
        false
    }

    fn key(row: &Row) -> Key {
        (0..row.len()).map(|cell| cells::value(row, cell)).collect()
    }

    async fn lock(
        &self,
        connection: &mut Transaction,
        subject: &Subject,
        id: &Key,
        _: bool,
    ) -> Result<bool, Error> {
        exists(connection, &mysql::lock(subject, id, self.statements.product), id).await
    }

    async fn read(
        &self,
        connection: &mut Transaction,
        plan: &Plan,
    ) -> Result<JsonBody, Failure<ResolveError>> {
        let read = self.statements.of_plan(plan);
        if plan.related_sort_rows().is_some() {
            let steps = read::explain(&mut connection.0, plan, &read).await;
            self.sort_bound.check(plan, async || steps).await.map_err(Failure::Final)?;
        }
        let fetched = fetch(connection, plan, &read).await?;
        plan.shape(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), 0).map_err(Failure::Final)
    }

    async fn read_records(
        &self,
        connection: &mut Transaction,
        plan: &Plan,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
        let plan = plan.for_records(ids);
        let read = ReadStatement::from_plan(&plan, self.statements.product);
        let fetched = fetch(connection, &plan, &read).await?;
        let mut source = NodeRowSource::new(&fetched, &read.layout, plan.node());
        plan.shape_records(&mut source, ids).map_err(Failure::Final)
    }

    fn retry(error: &Error) -> Retry {
        failure::retry(error)
    }

    fn fault<'e>(error: &'e Error, mutation: &'e Mutation) -> Fault<'e> {
        failure::fault(error, mutation)
    }

    fn resolve_error(error: &Error) -> ResolveError {
        failure::resolve_error(error)
    }

    fn is_refusal(error: &Error) -> bool {
        /// The server has ended the connection or the statement, or has lost its cluster, possibly after the transaction was
        /// committed.
        const INTERRUPTED: [u16; 5] =
            [code::NOT_READY, code::SHUTDOWN, code::KILLED, code::INTERRUPTED, code::STATEMENT_TIMEOUT];
        matches!(error, Error::Server(_)) && !is_one_of(error, &INTERRUPTED)
    }

    /// Searches for the foreign key that refers to a missing record, if the error does not name it.
    async fn search_fields(
        &self,
        connection: &mut Transaction,
        mutation: &Mutation,
        _: &Error,
        failed: WriteError,
    ) -> WriteError {
        match failed {
            WriteError::Conflict { rule: Rule::Reference, fields, .. } if fields.is_empty() => {
                let mut missing = Vec::new();
                for SetReference { fields, statement } in mysql::references(mutation, self.statements.product)
                {
                    // A field is not named if the check fails.
                    if let Ok(false) = exists(connection, &statement, &Key::default()).await {
                        missing.extend(fields);
                    }
                }
                WriteError::conflict_of(Rule::Reference, missing)
            }
            failed => failed,
        }
    }
}

/// Returns whether a statement finds a record.
async fn exists(connection: &mut Transaction, statement: &Statement<Param>, id: &Key) -> Result<bool, Error> {
    match connection.run(&[statement], id).await {
        (_, Some(error)) => Err(error),
        (found, None) => Ok(found.iter().any(|found| found.count > 0)),
    }
}

/// Returns the rows of a read.
async fn fetch(
    connection: &mut Transaction,
    plan: &Plan,
    read: &ReadStatement,
) -> Result<LevelRows, Failure<ResolveError>> {
    let (params, budget) = (read::params(plan, read), RowBudget::of_plan(plan));
    let bytes = bytes_of_tables(read.tables);
    let rows = connection.0.query_within(&read.statement.sql, &params, budget, bytes).await;
    let failed = |error| {
        let retry = match &error {
            PoolError::Failed(cause) => failure::retry(cause),
            _ => Retry::Never,
        };
        retry.failure(read::failed(error, plan))
    };
    Ok(LevelRows::new(rows.map_err(failed)?, read.levels))
}
