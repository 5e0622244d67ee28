//! A transaction on a connection.

use std::iter;
use std::sync::Arc;

use futures_util::future::{join_all, join3};
use mesh_backend::pool::{Connection as _, RowBudget};
use mesh_backend::rows::Decoder as _;
use mesh_backend::sort_limit::SortLimit;
use mesh_backend::transaction::{Engine, Failure, Ran, Transaction};
use mesh_plan::mutation::GuardedEntity;
use mesh_plan::{BoxFuture, JsonBody, Key, Mutation, Plan, ResolveError, WriteError};
use mesh_sql::postgres::{Param, Postgres, ReadStatement};
use mesh_sql::{Statement, find, find_written};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, Row};

use crate::cells::{BinaryCells, LevelRows, NodeRowSource};
use crate::other_servers::OtherServers;
use crate::pool::connection::Connection;
use crate::pool::error_kind::is_stale;
use crate::pool::{Lease, Pool, PoolError};
use crate::read;
use crate::read::StatementCache;
use crate::read::sort_limit;
use crate::sql::{self, TextParam};

/// Returns whether row-level security of a table applies to the account.
const HIDES_ROWS: &str = "SELECT pg_catalog.row_security_active($1::text::regclass)";

/// The primary, and the other servers that are notified of writes.
#[derive(Clone)]
pub struct PostgresEngine {
    pub(super) pool: Arc<Pool>,
    /// Whether transactions write nothing, and read one snapshot each.
    pub(super) is_snapshot: bool,
    pub(super) statements: Arc<StatementCache>,
    pub(super) sort_limit: Arc<SortLimit>,
    pub(super) other_servers: Arc<OtherServers>,
}

/// A transaction on a connection. The command that begins it is sent with the next statements, in one round trip.
pub struct PostgresTransaction {
    pub(super) connection: Lease,
    pub(super) engine: PostgresEngine,
    /// Whether the transaction has yet to begin.
    begins: bool,
}

impl Engine for PostgresEngine {
    type Transaction = PostgresTransaction;

    async fn take(&self, fresh: bool) -> Result<PostgresTransaction, ResolveError> {
        let connection = self.pool.take(fresh).await?;
        Ok(PostgresTransaction { connection, engine: self.clone(), begins: false })
    }
}

impl Transaction for PostgresTransaction {
    type Dialect = Postgres;
    type Row = Row;

    const BATCH: usize = 16;
    const CHECK_DEFERRED: Option<&'static str> = Some("SET CONSTRAINTS ALL IMMEDIATE");

    async fn begin(&mut self) -> Result<(), Error> {
        self.begins = true;
        Ok(())
    }

    async fn execute(&mut self, sql: &str) -> Result<(), Error> {
        self.open().await?;
        self.connection.execute(sql).await
    }

    async fn run(&mut self, statements: &[&Statement<Param>], id: &Key) -> (Vec<Ran<Row>>, Option<Error>) {
        let statements = statements.iter().map(|Statement { sql, params }| {
            (sql.as_str(), params.iter().map(|param| TextParam(param.for_write(id))).collect())
        });
        let statements: Vec<_> = statements.collect();
        let begins = std::mem::take(&mut self.begins);
        let opening = open(&self.connection, begins, self.engine.is_snapshot);
        let (all, error) = self.connection.query_all(opening, &statements).await;
        (all.into_iter().map(|rows| Ran { count: rows.len() as u64, rows }).collect(), error)
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.open().await?;
        self.connection.end("COMMIT").await
    }

    async fn rollback(&mut self) {
        if !self.connection.is_running() {
            let _ = self.connection.end("ROLLBACK").await;
        }
    }

    fn dialect(&self) -> &Postgres {
        &self.engine.statements.dialect
    }

    fn key(row: &Row) -> Key {
        BinaryCells::values(row).into_iter().collect()
    }

    async fn lock(&mut self, subject: &GuardedEntity, id: &Key, is_first: bool) -> Result<bool, Error> {
        let [locking, plain] = [true, false].map(|locks| find(subject, id, locks, self.dialect()));
        let mut found = self.query(&locking, id).await;
        // Nothing ran before, so nothing has to be repeated.
        if is_first && found.as_ref().is_err_and(cannot_lock) {
            keep_snapshot(&self.connection).await?;
            found = self.query(&plain, id).await;
        }
        Ok(found?.count > 0)
    }

    async fn read(&mut self, plan: &Plan) -> Result<JsonBody, Failure<ResolveError>> {
        self.open().await.map_err(|error| PoolError::Failed(error).failure(|error| error.of_read(plan)))?;
        self.read_opened(plan, RowBudget::of_plan(plan)).await
    }

    /// Sends the statements without waiting for the results of earlier ones. Those after the first may have few rows, so that
    /// little is in memory at once; the results end before the first one that has more.
    async fn read_ahead(&mut self, plans: &[Plan]) -> Vec<Result<JsonBody, Failure<ResolveError>>> {
        let Some((first, others)) = plans.split_first() else { return Vec::new() };
        let begins = std::mem::take(&mut self.begins);
        let this = &*self;
        let opening = open(&this.connection, begins, this.engine.is_snapshot);
        let others = others.iter().map(|plan| {
            this.read_opened(plan, RowBudget::of_plan(plan).at_most(plan.bytes_max() / Self::BATCH))
        });
        // The futures send their requests when they are first polled, which is in order.
        let first_read = this.read_opened(first, RowBudget::of_plan(first));
        let (opened, first_body, others) = join3(opening, first_read, join_all(others)).await;
        let opened = opened.map_err(|error| PoolError::Failed(error).failure(|error| error.of_read(first)));
        let exceeds = |body: &Result<JsonBody, Failure<ResolveError>>| {
            matches!(body, Err(Failure { error: ResolveError::TooManyBytes { .. }, .. }))
        };
        let others = others.into_iter().take_while(|body| !exceeds(body));
        iter::once(opened.and(first_body)).chain(others).collect()
    }

    async fn read_records(
        &mut self,
        plan: &Plan,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
        let all = plan.for_records(ids);
        let read = ReadStatement::from_plan(&all, self.dialect());
        self.open().await.map_err(|error| PoolError::Failed(error).failure(|error| error.of_read(&all)))?;
        let fetched = self.fetch(plan, (&all, &read), RowBudget::of_plan(&all)).await?;
        let mut source = NodeRowSource::new(&fetched, &read.layout, all.node());
        Ok(all.shape_records(&mut source, ids)?)
    }

    async fn search_fields(&mut self, mutation: &Mutation, error: &Error, failed: WriteError) -> WriteError {
        self.with_refused_fields(mutation, error, failed).await
    }

    /// If the record does not exist now, a trigger may have deleted it in place of the statement, so the transaction is ended
    /// to look again.
    async fn is_skipped(&mut self, mutation: &Mutation) -> bool {
        let connection = &self.connection;
        let Some(find) = find_written(mutation, self.dialect()) else { return false };
        let find = async || {
            let params: Vec<_> = find.params.iter().map(|param| TextParam(param.for_write(&[]))).collect();
            connection.query_once(&find.sql, &params).await.is_ok_and(|rows| !rows.is_empty())
        };
        if !find().await && (connection.end("ROLLBACK").await.is_err() || !find().await) {
            return false;
        }
        // Policies may hide the record from the statement alone. Then it does not exist for this write.
        let default_schema = self.dialect().default_schema.as_ref();
        let table = sql::table(&sql::qualified(mutation.written_table(), default_schema));
        let hides = connection.query_once(HIDES_ROWS, &[TextParam::text(&table)]).await;
        hides.is_ok_and(|rows| rows.first().is_some_and(|row| !row.get::<_, bool>(0)))
    }

    /// Waits until reads on other servers see the write, or those servers know that they may read older data.
    async fn after_commit(self) {
        let Self { connection, engine, .. } = self;
        engine.other_servers.announce_write(&connection).await;
        drop(connection);
        if let Some(settled_at) = engine.pool.hosts().settled_at() {
            tokio::time::sleep_until(settled_at.into()).await;
        }
    }
}

impl PostgresTransaction {
    /// Sends the command that begins the transaction.
    async fn open(&mut self) -> Result<(), Error> {
        let begins = std::mem::take(&mut self.begins);
        open(&self.connection, begins, self.engine.is_snapshot).await
    }

    /// Reads a plan in the transaction, which has begun.
    async fn read_opened(&self, plan: &Plan, budget: RowBudget) -> Result<JsonBody, Failure<ResolveError>> {
        let plan = &*self.engine.statements.dialect.charset.known_plan(plan);
        let read = &*self.engine.statements.of_plan(plan);
        let fetched = self.fetch(plan, (plan, read), budget).await?;
        Ok(plan.shape(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), 0)?)
    }

    /// Returns the rows of a read, unless it sorts too many by values of related records. The bound is that of `sorted`, from
    /// which `plan` is made if it reads several records.
    async fn fetch(
        &self,
        sorted: &Plan,
        (plan, read): (&Plan, &ReadStatement),
        budget: RowBudget,
    ) -> Result<LevelRows, Failure<ResolveError>> {
        let failed = |error: PoolError| error.failure(|error| error.of_read(plan));
        let connection = &*self.connection;
        if sorted.related_sort_rows().is_some() {
            let statement = self.engine.statements.of_plan(sorted);
            let steps = || -> BoxFuture<'_, _> { Box::pin(read::query_plan(connection, sorted, &statement)) };
            let bound = &self.engine.sort_limit;
            sort_limit::check(bound, sorted, steps).await?;
        }
        let rows = connection.query_bounded(&read.statement.sql, &read::params(plan, read), budget).await;
        Ok(LevelRows::new(rows.map_err(failed)?, read.levels))
    }
}

/// Begins a transaction, unless it has begun.
async fn open(connection: &Connection, begins: bool, is_snapshot: bool) -> Result<(), Error> {
    match (begins, is_snapshot) {
        (false, _) => Ok(()),
        (true, false) => connection.begin().await,
        (true, true) => connection.begin_snapshot().await,
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
async fn keep_snapshot(connection: &Connection) -> Result<(), Error> {
    connection.end("ROLLBACK").await?;
    connection.begin().await?;
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await
}
