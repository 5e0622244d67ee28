//! Reads: one statement per plan, whose rows are split by level and shaped.

pub(crate) mod export;
pub(crate) mod sort_bound;
pub(crate) mod statement_cache;

use mesh_backend::pool::RowBudget;
use mesh_backend::rows::has_sums;
use mesh_plan::{JsonBody, Plan, ResolveError};
use mesh_sql::postgres::{self, ReadStatement};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use self::statement_cache::StatementCache;
use crate::cells::{LevelRows, NodeRowSource};
use crate::pool::connection::Connection;
use crate::pool::{Pool, PoolError};
use crate::sql::TextParam;

impl From<PoolError> for ResolveError {
    fn from(error: PoolError) -> Self {
        if error.is_unreachable() {
            tracing::warn!("the database cannot be reached: {error}");
            return Self::Busy;
        }
        let cause = match &error {
            PoolError::Failed(cause) => cause,
            PoolError::Exceeded(exceeded) => return (*exceeded).into(),
            _ => return Self::Busy,
        };
        match cause.code() {
            Some(&SqlState::QUERY_CANCELED) => Self::TimedOut,
            // A statement that has lost against a concurrent transaction may succeed later.
            Some(
                &SqlState::TOO_MANY_CONNECTIONS
                | &SqlState::T_R_SERIALIZATION_FAILURE
                | &SqlState::T_R_DEADLOCK_DETECTED,
            ) => Self::Busy,
            _ => Self::new(error),
        }
    }
}

/// Reads a plan with one statement, so all rows belong to one snapshot.
///
/// # Errors
/// The server cannot be reached. Another one may answer.
pub(crate) async fn run(
    pool: &Pool,
    plan: &Plan,
    statements: &StatementCache,
) -> Result<Result<JsonBody, ResolveError>, PoolError> {
    let read = &*statements.of_plan(plan);
    let budget = RowBudget::of_plan(plan);
    let (sql, params) = (&read.statement.sql, params(plan, read));
    let rows = match pool.batches.read(sql, read.batch.as_ref(), &params, budget).await {
        Some(rows) => Ok(rows),
        None => pool.read(sql, &params, budget).await,
    };
    match rows {
        Err(error) if error.is_unreachable() => Err(error),
        rows => Ok(shape(plan, read, rows)),
    }
}

/// Returns the parameters of a plan's statement.
pub(crate) fn params<'s>(plan: &'s Plan, statement: &'s ReadStatement) -> Vec<TextParam<'s>> {
    statement.statement.params.iter().map(|param| TextParam(param.for_read(plan))).collect()
}

fn shape(
    plan: &Plan,
    statement: &ReadStatement,
    rows: Result<Vec<Row>, PoolError>,
) -> Result<JsonBody, ResolveError> {
    let fetched = LevelRows::new(rows.map_err(|error| failed(error, plan))?, statement.levels);
    plan.shape(&mut NodeRowSource::new(&fetched, &statement.layout, plan.node()), 0)
}

/// Converts the error of a plan's statement.
pub(crate) fn failed(error: PoolError, plan: &Plan) -> ResolveError {
    match &error {
        // If the statement has sums, a number out of range is a sum.
        PoolError::Failed(cause)
            if cause.code() == Some(&SqlState::NUMERIC_VALUE_OUT_OF_RANGE) && has_sums(plan) =>
        {
            ResolveError::SumOverflow
        }
        _ => error.into(),
    }
}

/// Returns the query plan of a plan's statement, one line for each step.
pub(crate) async fn query_plan(
    link: &Connection,
    plan: &Plan,
    statement: &ReadStatement,
) -> Result<Vec<String>, PoolError> {
    let sql = postgres::explain(&statement.statement);
    let rows = link.query_once(&sql, &params(plan, statement)).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
