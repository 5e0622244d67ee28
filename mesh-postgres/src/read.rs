//! Reads: one statement per plan, whose rows are split by level and shaped.

pub(crate) mod statement_cache;

use std::error::Error as StdError;

use futures_util::TryStreamExt as _;
use mesh_plan::sql::Statement;
use mesh_plan::sql::postgres::{self, Param, ReadStatement};
use mesh_plan::{Aggregate, JsonBody, Plan, ResolveError};
use mesh_ql::AggregateFn;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, RowStream};

use self::statement_cache::StatementCache;
use crate::cells::{Fetched, Source};
use crate::error::with_causes;
use crate::pool::{Lease, Link, Pool, PoolError};
use crate::sql::TextParam;

/// Why a read failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection is broken or a prepared statement is out of date; a read on a new connection may succeed.
    Stale(Error),
    /// The server cannot be reached.
    Unreachable(PoolError),
    /// Another try would fail too.
    Final(ResolveError),
}

impl From<Failure> for ResolveError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stale(error) => unreachable(error),
            Failure::Unreachable(error) => error.into(),
            Failure::Final(error) => error,
        }
    }
}

/// Logs that the database cannot be reached, and returns the error of the read, which can be retried later.
fn unreachable(error: impl StdError) -> ResolveError {
    tracing::warn!("the database cannot be reached: {}", with_causes(&error));
    ResolveError::Busy
}

impl From<PoolError> for ResolveError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Exhausted => Self::Busy,
            error => unreachable(error),
        }
    }
}

/// Maps an error outside of [`run`] to that of a read.
pub(super) fn resolve_error(error: impl Into<ReadError>) -> ResolveError {
    match error.into() {
        ReadError::Pool(error) => error.into(),
        ReadError::Driver(error) => Failure::new(error, false).into(),
    }
}

/// An error of the pool or of the driver.
pub(super) enum ReadError {
    Pool(PoolError),
    Driver(Error),
}

impl From<PoolError> for ReadError {
    fn from(error: PoolError) -> Self {
        Self::Pool(error)
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

impl Failure {
    /// Maps an error of the driver. If the statement has sums, a number out of range is a sum.
    fn new(error: Error, has_sums: bool) -> Self {
        let Some(code) = error.code() else {
            return if error.is_closed() || error.source().is_some_and(|it| it.is::<std::io::Error>()) {
                Self::Stale(error)
            } else {
                Self::Final(ResolveError::new(error))
            };
        };
        let stale = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::INVALID_SQL_STATEMENT_NAME,
            // A replica that cancelled the read because it conflicts with replay.
            SqlState::T_R_SERIALIZATION_FAILURE,
        ];
        if stale.contains(code) || code.code().starts_with("08") || is_outdated(&error) {
            return Self::Stale(error);
        }
        Self::Final(match code {
            code if *code == SqlState::QUERY_CANCELED => ResolveError::TimedOut,
            code if *code == SqlState::TOO_MANY_CONNECTIONS => ResolveError::Busy,
            code if *code == SqlState::NUMERIC_VALUE_OUT_OF_RANGE && has_sums => ResolveError::SumOverflow,
            _ => ResolveError::new(with_causes(&error)),
        })
    }
}

/// Whether a prepared statement is out of date because its tables were altered. The message is localized and the code is
/// that of all unsupported features, so the routine in the source of PostgreSQL identifies the error.
pub(super) fn is_outdated(error: &Error) -> bool {
    error.as_db_error().is_some_and(|cause| {
        *cause.code() == SqlState::FEATURE_NOT_SUPPORTED && cause.routine() == Some("RevalidateCachedQuery")
    })
}

/// Reads a plan with one statement, so all rows are of one snapshot.
pub(super) async fn run(
    pool: &Pool,
    plan: &Plan,
    statements: &StatementCache,
    fresh: bool,
) -> Result<JsonBody, Failure> {
    let statement = statements.of_plan(plan);
    let mut lease = pool.take(fresh).await.map_err(|error| match error {
        PoolError::Exhausted => Failure::Final(ResolveError::Busy),
        error => Failure::Unreachable(error),
    })?;
    let fetched = fetch(pool, &mut lease, plan, &statement).await;
    lease.done();
    drop(lease);
    let fetched = fetched.map_err(|error| Failure::new(error, has_sums(plan)))?;
    shape(plan, &statement, &fetched).map_err(Failure::Final)
}

/// Reads a plan inside an open transaction.
pub(super) async fn run_in_transaction(
    pool: &Pool,
    link: &mut Link,
    plan: &Plan,
    statements: &StatementCache,
) -> Result<JsonBody, ResolveError> {
    let statement = statements.of_plan(plan);
    let params = params(plan, &statement.statement);
    let reading = async {
        let rows = if pool.has_pooler() {
            let typed = params.iter().map(|param| (param, Type::UNKNOWN));
            link.client().query_typed_raw(&statement.statement.sql, typed).await?
        } else {
            let prepared = link.prepare(&statement.statement.sql).await?;
            link.client().query_raw(&prepared, &params).await?
        };
        collect(rows, &statement).await
    };
    let fetched = reading.await.map_err(|error| Failure::new(error, has_sums(plan)))?;
    shape(plan, &statement, &fetched)
}

fn shape(plan: &Plan, statement: &ReadStatement, fetched: &Fetched) -> Result<JsonBody, ResolveError> {
    plan.shape(&mut Source::new(fetched, &statement.layout, plan.node()), 0)
}

/// Whether a plan has sums. Averages are computed from sums.
fn has_sums(plan: &Plan) -> bool {
    let is_sum = |aggregate: &Aggregate| matches!(aggregate.function, AggregateFn::Sum | AggregateFn::Avg);
    plan.node().grouping.as_ref().is_some_and(|grouping| grouping.aggregates.iter().any(is_sum))
}

async fn fetch(
    pool: &Pool,
    lease: &mut Lease,
    plan: &Plan,
    statement: &ReadStatement,
) -> Result<Fetched, Error> {
    let params = params(plan, &statement.statement);
    let link = lease.begin();
    if pool.has_pooler() {
        return fetch_through_pooler(pool, link, statement, &params).await;
    }
    let prepared = link.prepare(&statement.statement.sql).await?;
    let rows = link.client().query_raw(&prepared, &params).await?;
    collect(rows, statement).await
}

/// Reads in a transaction that is sent in one go, without prepared statements.
async fn fetch_through_pooler(
    pool: &Pool,
    link: &Link,
    statement: &ReadStatement,
    params: &[TextParam<'_>],
) -> Result<Fetched, Error> {
    let client = link.client();
    let reading = async {
        let typed = params.iter().map(|param| (param, Type::UNKNOWN));
        collect(client.query_typed_raw(&statement.statement.sql, typed).await?, statement).await
    };
    // The futures send their requests when they are first polled, which is in order.
    let (begun, read, committed) = futures_util::future::join3(
        client.batch_execute(pool.begin()),
        reading,
        client.batch_execute("COMMIT"),
    )
    .await;
    begun?;
    let fetched = read?;
    committed?;
    Ok(fetched)
}

async fn collect(rows: RowStream, statement: &ReadStatement) -> Result<Fetched, Error> {
    let mut rows = std::pin::pin!(rows);
    let mut fetched = Fetched::new(statement.levels);
    while let Some(row) = rows.try_next().await? {
        fetched.push(row);
    }
    fetched.finish();
    Ok(fetched)
}

fn params<'p>(plan: &Plan, statement: &'p Statement<Param>) -> Vec<TextParam<'p>> {
    statement.params.iter().map(|param| TextParam(param.for_read(plan))).collect()
}

/// Returns the query plan of a plan's statement, a line for each step.
pub(super) async fn query_plan(
    client: &Client,
    plan: &Plan,
    statement: &Statement<Param>,
) -> Result<Vec<String>, Error> {
    let params = params(plan, statement);
    let typed = params.iter().map(|param| (param, Type::UNKNOWN));
    let rows = client.query_typed_raw(&postgres::explain(statement), typed).await?;
    rows.map_ok(|row| row.get::<_, String>(0)).try_collect().await
}
