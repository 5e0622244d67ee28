//! Reads: one statement per plan, whose rows are split by level and shaped.

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::BytesMut;
use futures_util::TryStreamExt as _;
use mesh_plan::sql::Statement;
use mesh_plan::sql::postgres::{Param, ReadStatement};
use mesh_plan::{Aggregate, JsonBody, Plan, ResolveError};
use mesh_ql::AggregateFn;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Format, IsNull, ToSql, Type};
use tokio_postgres::{Client, Error, RowStream};

use crate::cells::{Fetched, Source};
use crate::error::with_causes;
use crate::pool::{Lease, Link, Pool, PoolError};
use crate::statements::StatementCache;

/// Why a read failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection is broken, or what was prepared on it is out of date; another one may do.
    Stale(Error),
    /// The server cannot be reached.
    Away(PoolError),
    /// For good.
    Final(ResolveError),
}

impl From<Failure> for ResolveError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stale(error) => unreachable(error),
            Failure::Away(error) => error.into(),
            Failure::Final(error) => error,
        }
    }
}

/// What a database that cannot be reached means for a read: it may be tried again later.
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

/// What a failure outside of [`run`] means for a read.
pub(super) fn failed(error: impl Into<ReadError>) -> ResolveError {
    match error.into() {
        ReadError::Pool(error) => error.into(),
        ReadError::Driver(error) => Failure::of(error, false).into(),
    }
}

/// Where a failure comes from.
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
    /// `sums`: whether the statement adds up, so that a number out of range can be nothing but a sum.
    fn of(error: Error, sums: bool) -> Self {
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
            // What a replica says that had to choose between a read and following its primary.
            SqlState::T_R_SERIALIZATION_FAILURE,
        ];
        if stale.contains(code) || code.code().starts_with("08") || is_outdated(&error) {
            return Self::Stale(error);
        }
        Self::Final(match code {
            code if *code == SqlState::QUERY_CANCELED => ResolveError::TimedOut,
            code if *code == SqlState::TOO_MANY_CONNECTIONS => ResolveError::Busy,
            code if *code == SqlState::NUMERIC_VALUE_OUT_OF_RANGE && sums => ResolveError::SumOverflow,
            _ => ResolveError::new(with_causes(&error)),
        })
    }
}

/// Whether a prepared statement no longer fits its tables. The database says so in the reader's language, with a
/// code that stands for all that it does not support; only the place that it comes from tells it apart.
pub(super) fn is_outdated(error: &Error) -> bool {
    error.as_db_error().is_some_and(|cause| {
        *cause.code() == SqlState::FEATURE_NOT_SUPPORTED && cause.routine() == Some("RevalidateCachedQuery")
    })
}

/// Reads a plan: one statement, and so one moment for all its rows.
pub(super) async fn run(
    pool: &Pool,
    plan: &Plan,
    statements: &StatementCache,
    fresh: bool,
) -> Result<JsonBody, Failure> {
    let statement = statements.of_plan(plan);
    let mut lease = pool.take(fresh).await.map_err(|error| match error {
        PoolError::Exhausted => Failure::Final(ResolveError::Busy),
        error => Failure::Away(error),
    })?;
    let fetched = fetch(pool, &mut lease, plan, &statement).await;
    lease.done();
    drop(lease);
    let fetched = fetched.map_err(|error| Failure::of(error, adds_up(plan)))?;
    shape(plan, &statement, &fetched).map_err(Failure::Final)
}

/// Reads a plan inside a transaction that is under way.
pub(super) async fn inside(
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
    let fetched = reading.await.map_err(|error| Failure::of(error, adds_up(plan)))?;
    shape(plan, &statement, &fetched)
}

fn shape(plan: &Plan, statement: &ReadStatement, fetched: &Fetched) -> Result<JsonBody, ResolveError> {
    plan.shape(&mut Source::new(fetched, &statement.layout, plan.node()), 0)
}

/// Whether a number out of range can be nothing but a sum: averages are made of sums.
fn adds_up(plan: &Plan) -> bool {
    let adds = |aggregate: &Aggregate| matches!(aggregate.function, AggregateFn::Sum | AggregateFn::Avg);
    plan.node().grouping.as_ref().is_some_and(|grouping| grouping.aggregates.iter().any(adds))
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
        return through_pooler(pool, link, statement, &params).await;
    }
    let prepared = link.prepare(&statement.statement.sql).await?;
    let rows = link.client().query_raw(&prepared, &params).await?;
    collect(rows, statement).await
}

/// In a transaction of its own, all of it sent at once, with nothing prepared.
async fn through_pooler(
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
    // Requests are sent in the order in which these are first polled.
    let (begun, read, ended) = futures_util::future::join3(
        client.batch_execute(pool.begin()),
        reading,
        client.batch_execute("COMMIT"),
    )
    .await;
    begun?;
    let fetched = read?;
    ended?;
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

/// The database's own account of how it would run a plan's statement.
pub(super) async fn query_plan(
    client: &Client,
    plan: &Plan,
    statement: &Statement<Param>,
) -> Result<Vec<String>, Error> {
    let params = params(plan, statement);
    let typed = params.iter().map(|param| (param, Type::UNKNOWN));
    let sql = format!("EXPLAIN {}", statement.sql);
    let rows = client.query_typed_raw(&sql, typed).await?;
    rows.map_ok(|row| row.get::<_, String>(0)).try_collect().await
}

/// A parameter as text, which the database reads as whatever type the statement says.
#[derive(Debug)]
pub(super) struct TextParam<'a>(pub(super) Option<Cow<'a, str>>);

impl ToSql for TextParam<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match &self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}
