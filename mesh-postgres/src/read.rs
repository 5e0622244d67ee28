//! Reads: one statement per plan, whose rows are split by level and shaped.

pub(crate) mod export;
pub(crate) mod sort_limit;

use mesh_backend::pool::RowBudget;
use mesh_plan::{JsonBody, Plan, ResolveError};
use mesh_sql::postgres::{Postgres, ReadStatement};
use tokio_postgres::Row;

use crate::cells::{LevelRows, NodeRowSource};
use crate::pool::connection::Connection;
use crate::pool::{Pool, PoolError};
use crate::sql::TextParam;

/// The statements of recent plans.
pub(crate) type StatementCache = mesh_backend::statement_cache::StatementCache<Postgres>;

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
    let fetched = LevelRows::new(rows.map_err(|error| error.of_read(plan))?, statement.levels);
    plan.shape(&mut NodeRowSource::new(&fetched, &statement.layout, plan.node()), 0)
}

/// Returns the query plan of a plan's statement, one line for each step.
pub(crate) async fn query_plan(
    connection: &Connection,
    plan: &Plan,
    statement: &ReadStatement,
) -> Result<Vec<String>, PoolError> {
    let sql = format!("EXPLAIN {}", statement.statement.sql);
    let rows = connection.query_once(&sql, &params(plan, statement)).await.map_err(PoolError::Failed)?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
