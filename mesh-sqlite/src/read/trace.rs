//! Traced reads, which record duration and rows of each statement. For development only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::sql::sqlite::{Param, Statements};
use mesh_plan::{
    Cells as _, Context, Flow, JsonBody, Node, Plan, ResolveError, RowSource, Target, Trace, TracedStatement,
    Value, ValueRef,
};
use rusqlite::{CachedStatement, Connection};

use crate::cells::{Bound, SqliteRow};
use crate::database::current_file::OpenFile;
use crate::pool::interrupt::Budget;
use crate::pool::{DEFAULT_TIMEOUT, Reader};
use crate::read::{self, failed};

impl OpenFile {
    /// Reads on a thread that may block, without caches, and records the statements that ran.
    pub(crate) async fn read_traced(
        &self,
        plan: Plan,
        context: Context,
        trace: Arc<Trace>,
    ) -> Result<JsonBody, ResolveError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let permit = self.pool.slow_reads().take(deadline).await?;
        let mut reader = self.pool.take().map_err(failed)?;
        let interrupt = reader.interrupt().cancel_on_drop();
        let pool = Arc::clone(&self.pool);
        let running = tokio::task::spawn_blocking(move || {
            let result = read_blocking(&mut reader, &plan, deadline, &trace);
            pool.give(reader);
            drop(permit);
            result
        });
        let result = running.await;
        drop(interrupt);
        result.map_err(|error| ResolveError::Panicked(error.to_string()))?
    }
}

/// Reads in one transaction, and waits for a writer that holds the file.
fn read_blocking(
    reader: &mut Reader,
    plan: &Plan,
    deadline: Instant,
    trace: &Trace,
) -> Result<JsonBody, ResolveError> {
    reader.wait_for_writers(deadline.saturating_duration_since(Instant::now())).map_err(failed)?;
    reader.interrupt().begin(Budget::Until(deadline));
    let connection = reader.connection();
    let result = connection.execute_batch("BEGIN").map_err(failed).and_then(|()| {
        let result = shape(connection, plan, trace);
        let committed = connection.execute_batch("COMMIT").map_err(failed);
        result.and_then(|body| committed.map(|()| body))
    });
    reader.wait_for_writers(Duration::ZERO).map_err(failed)?;
    result
}

/// Shapes a plan's answer and records the statements that ran, parents before children.
fn shape(connection: &Connection, plan: &Plan, trace: &Trace) -> Result<JsonBody, ResolveError> {
    let statements = &Statements::from_plan(plan);
    let mut source = TimedStatement::prepare(connection, statements, plan).map_err(failed)?;
    let body = plan.shape(&mut source, 0)?;
    let mut costs = Vec::new();
    source.costs(statements, plan.node(), &mut costs);
    if trace.wants_query_plans() {
        let steps = read::query_plan(connection, statements).map_err(failed)?;
        costs = costs.into_iter().zip(steps).map(|(cost, (_, steps))| cost.with_query_plan(steps)).collect();
    }
    trace.record(costs);
    Ok(body)
}

/// A prepared statement with its cost so far, and those of its joins.
struct TimedStatement<'c> {
    statement: CachedStatement<'c>,
    /// Parameters, counted from 1, with the columns of the parent row that are bound to them.
    parent_params: Vec<(usize, usize)>,
    /// The values that were bound in the first run.
    params: Vec<Value>,
    duration: Duration,
    rows: u64,
    runs: u64,
    joins: Vec<Self>,
}

impl<'c> TimedStatement<'c> {
    fn prepare(connection: &'c Connection, tree: &Statements, plan: &Plan) -> rusqlite::Result<Self> {
        let start = Instant::now();
        let mut statement = connection.prepare_cached(&tree.statement.sql)?;
        let (mut parent_params, mut params) = (Vec::new(), Vec::new());
        for (index, param) in (1..).zip(&tree.statement.params) {
            let value = match (param, plan.target()) {
                (Param::Value(value), _) | (Param::Id, Target::Point(value)) => value.clone(),
                (Param::Session(slot), _) => plan.session_value(*slot).clone(),
                (Param::After(value), _) => {
                    plan.after().and_then(|after| after.get(*value)).cloned().unwrap_or_default()
                }
                (Param::Parent(column), _) => {
                    parent_params.push((index, *column));
                    Value::Null
                }
                // Only statements of point reads have this parameter.
                (Param::Id, Target::Collection) => Value::Null,
            };
            statement.raw_bind_parameter(index, Bound(value.as_ref()))?;
            params.push(value);
        }
        let duration = start.elapsed();
        let joins = tree.joins.iter().map(|tree| Self::prepare(connection, tree, plan));
        let joins = joins.collect::<Result<_, _>>()?;
        Ok(Self { statement, parent_params, params, duration, rows: 0, runs: 0, joins })
    }

    /// Adds the costs of this statement and its joins. The depth of the recursion is that of the query, which is bounded.
    fn costs(&self, tree: &Statements, node: &Node, costs: &mut Vec<TracedStatement>) {
        let cost = TracedStatement::new(tree.statement.sql.as_str(), self.duration, self.rows);
        costs.push(cost.with_params(self.params.iter().cloned()).with_node(&node.path, self.runs));
        for ((join, tree), below) in self.joins.iter().zip(&tree.joins).zip(&node.joins) {
            join.costs(tree, &below.node, costs);
        }
    }
}

impl RowSource for TimedStatement<'_> {
    type Row<'r> = SqliteRow<'r>;

    fn visit<'p>(
        &mut self,
        parent: Option<&SqliteRow<'p>>,
        mut visitor: impl FnMut(&SqliteRow<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let mut start = Instant::now();
        if let Some(parent) = parent {
            for (index, column) in &self.parent_params {
                let key = parent.cell(*column);
                if key == ValueRef::Null {
                    return Ok(());
                }
                self.statement.raw_bind_parameter(*index, Bound(key)).map_err(failed)?;
                if self.runs == 0
                    && let Some(param) = self.params.get_mut(*index - 1)
                {
                    *param = key.to_value();
                }
            }
        }
        self.runs += 1;
        let mut rows = self.statement.raw_query();
        loop {
            let row = rows.next().map_err(failed)?;
            self.duration += start.elapsed();
            let Some(row) = row else { return Ok(()) };
            self.rows += 1;
            if visitor(&SqliteRow(row), &mut self.joins)? == Flow::Stop {
                return Ok(());
            }
            start = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests;
