//! Reads: one statement per plan, whose rows are split by level and shaped.

pub(crate) mod export;

use mesh_backend::pool::RowBudget;
use mesh_plan::{JsonBody, Plan, ResolveError, Value};
use mesh_sql::mysql::{MySql, ReadStatement};
use mysql_async::Row;

use crate::cells::{self, LevelRows, NodeRowSource};
use crate::pool::connection::Connection;
use crate::pool::{Pool, PoolError};

/// The statements of recent plans.
pub(crate) type StatementCache = mesh_backend::statement_cache::StatementCache<MySql>;

/// Reads a plan with one statement, so all rows belong to one snapshot.
pub(crate) async fn run(
    pool: &Pool,
    plan: &Plan,
    statements: &StatementCache,
) -> Result<JsonBody, ResolveError> {
    let read = statements.of_plan(plan);
    let (params, budget) = (params(plan, &read), RowBudget::of_plan(plan));
    let rows = pool.run(&read.statement.sql, &params, budget).await;
    let fetched = LevelRows::new(rows.map_err(|error| error.of_read(plan))?, read.levels);
    plan.shape(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), 0)
}

/// Returns the parameters of a plan's statement.
pub(crate) fn params(plan: &Plan, statement: &ReadStatement) -> Vec<Value> {
    statement.statement.params.iter().map(|param| param.value_for_read(plan).into_owned()).collect()
}

/// Returns the rows of the query plan of a plan's statement.
pub(crate) async fn explain(
    connection: &mut Connection,
    plan: &Plan,
    statement: &ReadStatement,
) -> Result<Vec<Row>, PoolError> {
    let sql = format!("EXPLAIN {}", statement.statement.sql);
    connection.query(&sql, &params(plan, statement)).await.map_err(PoolError::Failed)
}

/// Returns a query plan as text, one line for each step.
pub(crate) fn steps(rows: &[Row]) -> Vec<String> {
    let step = |row: &Row| {
        let names = row.columns_ref().iter().map(|column| column.name_str().into_owned());
        let cells = names.enumerate().filter_map(|(index, name)| {
            let value = cells::optional_text(row, index)?;
            Some(format!("{name}={value}"))
        });
        cells.collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(step).collect()
}

/// Returns the largest number of rows that a step reads from a table, if any step sorts. A query plan does not state
/// the number of rows of a sort, and these are the rows of a table with at most one record joined to each.
pub(crate) fn sorted_rows(steps: &[Row]) -> u64 {
    let column = |row: &Row, name: &str| {
        row.columns_ref().iter().position(|column| column.name_str().eq_ignore_ascii_case(name))
    };
    let text = |row: &Row, name: &str| column(row, name).and_then(|index| cells::optional_text(row, index));
    let sorts = |row: &Row| text(row, "Extra").is_some_and(|extra| extra.contains("filesort"));
    if !steps.iter().any(sorts) {
        return 0;
    }
    let is_table = |row: &&Row| text(row, "table").is_some_and(|table| !table.starts_with('<'));
    let rows = |row: &Row| column(row, "rows").and_then(|index| cells::integer(row, index));
    steps.iter().filter(is_table).filter_map(rows).max().map_or(0, i64::unsigned_abs)
}
