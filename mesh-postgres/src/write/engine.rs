//! What PostgreSQL does otherwise than other engines in a transaction.

use std::sync::Arc;

use mesh_backend::pool::RowBudget;
use mesh_backend::transaction::{Connection as _, Engine, Failure, Fault, Retry};
use mesh_plan::sql::postgres::{self, Param, ReadStatement};
use mesh_plan::sql::{Statement, Step};
use mesh_plan::{BoxFuture, JsonBody, Key, Mutation, Plan, ResolveError, Subject, WriteError};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::{Error, Row};

use super::connection::Transaction;
use super::failure;
use crate::cells::{self, LevelRows, NodeRowSource};
use crate::other_servers::OtherServers;
use crate::pool::link::Link;
use crate::pool::{Pool, PoolError, is_stale};
use crate::read;
use crate::read::sort_bound::SortBound;
use crate::read::statement_cache::StatementCache;
use crate::sql::{self, TextParam};

/// Returns whether row-level security of a table applies to the account.
const HIDES_ROWS: &str = "SELECT pg_catalog.row_security_active($1::text::regclass)";

/// The primary, and the other servers that are told about writes.
#[derive(Clone)]
pub(super) struct PostgresEngine {
    pub(super) pool: Arc<Pool>,
    pub(super) statements: Arc<StatementCache>,
    pub(super) sort_bound: Arc<SortBound>,
    pub(super) other_servers: Arc<OtherServers>,
}

impl Engine for PostgresEngine {
    type Connection = Transaction;

    const CHECK_DEFERRED: Option<&'static str> = Some("SET CONSTRAINTS ALL IMMEDIATE");

    async fn take(&self, fresh: bool) -> Result<Transaction, ResolveError> {
        Ok(Transaction::new(self.pool.take(fresh).await?))
    }

    fn write_steps(&self, mutation: &Mutation) -> Vec<Step<Param>> {
        postgres::write_steps(mutation, &self.statements.features)
    }

    fn create_many(&self, mutations: &[Mutation]) -> Option<(Statement<Param>, usize)> {
        postgres::create_many(mutations, &self.statements.features)
    }

    fn permitted(&self, subject: &Subject, ids: &[Key]) -> Option<Statement<Param>> {
        postgres::permitted(subject, ids, &self.statements.features)
    }

    fn uses_id(statement: &Statement<Param>) -> bool {
        statement.params.iter().any(Param::is_id)
    }

    fn key(row: &Row) -> Key {
        (0..row.len()).map(|cell| cells::value(row, cell)).collect()
    }

    async fn lock(
        &self,
        connection: &mut Transaction,
        subject: &Subject,
        id: &Key,
        is_first: bool,
    ) -> Result<bool, Error> {
        let find = |locks| postgres::find(subject, id, locks, &self.statements.features);
        let mut found = find_one(connection, &find(true), id).await;
        // Nothing ran before, so nothing has to be repeated.
        if is_first && found.as_ref().is_err_and(cannot_lock) {
            keep_snapshot(connection.link()).await?;
            found = find_one(connection, &find(false), id).await;
        }
        found
    }

    async fn read(
        &self,
        connection: &mut Transaction,
        plan: &Plan,
    ) -> Result<JsonBody, Failure<ResolveError>> {
        let plan = &*self.statements.features.charset.known_plan(plan);
        let statement = self.statements.of_plan(plan);
        let read = &statement.read;
        let fetched = self.fetch(connection, plan, plan, read).await?;
        plan.shape(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), 0).map_err(Failure::Final)
    }

    async fn read_records(
        &self,
        connection: &mut Transaction,
        plan: &Plan,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
        let all = plan.for_records(ids);
        let read = ReadStatement::from_plan(&all, &self.statements.features);
        let fetched = self.fetch(connection, plan, &all, &read).await?;
        let mut source = NodeRowSource::new(&fetched, &read.layout, all.node());
        all.shape_records(&mut source, ids).map_err(Failure::Final)
    }

    fn retry(error: &Error) -> Retry {
        let conflicts = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
        match error.code() {
            Some(code) if conflicts.contains(code) => Retry::Again,
            _ if is_stale(error) => Retry::OnNewConnection,
            _ => Retry::Never,
        }
    }

    fn fault<'e>(error: &'e Error, mutation: &'e Mutation) -> Fault<'e> {
        failure::fault(error, mutation)
    }

    fn resolve_error(error: &Error) -> ResolveError {
        failure::resolve_error(error)
    }

    /// A connection that PostgreSQL ends may have been waiting for a standby, after the transaction was committed.
    fn is_refusal(error: &Error) -> bool {
        error.as_db_error().is_some_and(|cause| cause.parsed_severity() == Some(Severity::Error))
    }

    fn is_about(error: &Error, mutation: &Mutation) -> bool {
        error.as_db_error().is_some_and(|cause| failure::is_about(cause, mutation))
    }

    async fn search_fields(
        &self,
        connection: &mut Transaction,
        mutation: &Mutation,
        error: &Error,
        failed: WriteError,
    ) -> WriteError {
        failure::search_fields(connection.link(), mutation, error, failed, &self.statements.features).await
    }

    /// If the record does not exist now, a trigger may have deleted it in place of the statement, so the transaction is ended
    /// to look again.
    async fn is_skipped(&self, connection: &mut Transaction, mutation: &Mutation) -> bool {
        let link = connection.link();
        let Some(find) = postgres::find_written(mutation, &self.statements.features) else { return false };
        let find = async || {
            let params: Vec<_> =
                find.params.iter().map(|param| TextParam(param.for_write(&Key::default()))).collect();
            link.query_once(&find.sql, &params).await.is_ok_and(|rows| !rows.is_empty())
        };
        if !find().await && (link.end("ROLLBACK").await.is_err() || !find().await) {
            return false;
        }
        // Policies may hide the record from the statement alone. Then it does not exist for this write.
        let table = sql::table(&sql::qualified(
            mutation.written_table(),
            self.statements.features.default_schema.as_ref(),
        ));
        let hides = link.query_once(HIDES_ROWS, &[TextParam::text(&table)]).await;
        hides.is_ok_and(|rows| rows.first().is_some_and(|row| !row.get::<_, bool>(0)))
    }

    /// Waits until reads on other servers see the write, or those servers know that they may read older data.
    async fn after_commit(&self, connection: Transaction) {
        let link = connection.into_link();
        let announced = self.other_servers.announce_write(&link).await;
        drop(link);
        if let Some(settled_at) = self.pool.hosts().settled_at() {
            tokio::time::sleep_until(settled_at.into()).await;
        }
        if let Some((announcement, others)) = announced {
            announcement.wait_for_acknowledgements(others).await;
        }
    }
}

impl PostgresEngine {
    /// Returns the rows of a read, unless it sorts too many by values of related records. `sorted` is the plan for one record.
    async fn fetch(
        &self,
        connection: &mut Transaction,
        sorted: &Plan,
        plan: &Plan,
        read: &ReadStatement,
    ) -> Result<LevelRows, Failure<ResolveError>> {
        let failed = |error| {
            let retry = match &error {
                PoolError::Failed(cause) => Self::retry(cause),
                _ => Retry::Never,
            };
            retry.failure(read::failed(error, plan))
        };
        let link = connection.begun().await.map_err(|error| failed(error.into()))?;
        if sorted.related_sort_rows().is_some() {
            let statement = self.statements.of_plan(sorted);
            let steps = || -> BoxFuture<'_, _> { Box::pin(read::query_plan(link, sorted, &statement.read)) };
            self.sort_bound.check(sorted, steps).await.map_err(Failure::Final)?;
        }
        let (params, budget) = (read::params(plan, read), RowBudget::of_plan(plan));
        let rows = link.query_bounded(&read.statement.sql, &params, budget).await;
        Ok(LevelRows::new(rows.map_err(failed)?, read.levels))
    }
}

/// Returns whether a statement finds a record.
async fn find_one(
    connection: &mut Transaction,
    statement: &Statement<Param>,
    id: &Key,
) -> Result<bool, Error> {
    match connection.run(&[statement], id).await {
        (_, Some(error)) => Err(error),
        (found, None) => Ok(found.iter().any(|found| found.count > 0)),
    }
}

/// Returns whether a record can never be locked, regardless of its state: the account may delete but not update it, or
/// it is a record of a view whose rows cannot be locked.
fn cannot_lock(error: &Error) -> bool {
    let codes = [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::FEATURE_NOT_SUPPORTED];
    !is_stale(error) && error.code().is_some_and(|code| codes.contains(code))
}

/// Restarts the transaction, with one snapshot for all its statements. A write of a record that another transaction has
/// changed since then fails, and the transaction is tried again.
async fn keep_snapshot(link: &Link) -> Result<(), Error> {
    link.end("ROLLBACK").await?;
    link.begin().await?;
    link.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await
}
