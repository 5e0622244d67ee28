//! Reads: the statements of a plan, run for each parent row and written straight into the answer.

#[cfg(test)]
mod tests;
mod trace;

use mesh_plan::sql::sqlite::{self, Param, Statements};
use mesh_plan::{
    Cells as _, Flow, JsonBody, Node, Plan, ResolveError, RowSource, Target, Trace, TracedStatement, Value,
    ValueRef,
};
use mesh_schema::TableName;
use rusqlite::{Connection, ErrorCode, StatementStatus};
use sea_query::{Asterisk, Expr, Func, Query, SqliteQueryBuilder};

use crate::cells::{Bound, SqliteRow};
use crate::functions;
use trace::Cost;

/// Reads a plan inside an open transaction, and records the statements if there is a trace.
pub(crate) fn read_in_transaction(
    connection: &Connection,
    plan: &Plan,
    statements: &Statements,
    trace: Option<&Trace>,
) -> Result<JsonBody, ResolveError> {
    let mut tree = StatementTree::prepare(connection, statements).map_err(failed)?;
    let Some(trace) = trace else { return tree.run(plan) };
    tree.measure();
    let body = tree.run(plan)?;
    let mut traced = Vec::new();
    tree.push_costs(statements, plan.node(), &mut traced);
    if trace.wants_query_plans() {
        let steps = query_plan(connection, statements).map_err(failed)?;
        traced =
            traced.into_iter().zip(steps).map(|(cost, (_, steps))| cost.with_query_plan(steps)).collect();
    }
    trace.record(traced);
    Ok(body)
}

/// Converts an error of SQLite to that of a read.
pub(crate) fn failed(error: rusqlite::Error) -> ResolveError {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => ResolveError::TimedOut,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ResolveError::Busy,
        _ if is_overflow(&error) => ResolveError::SumOverflow,
        _ => ResolveError::new(error),
    }
}

fn is_overflow(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(_, Some(message)) if message == functions::OVERFLOW)
}

/// The prepared statement of a node, with those of its joins.
pub(crate) struct StatementTree<'c> {
    statement: rusqlite::Statement<'c>,
    /// The parameters that change between runs, with their indexes, counted from 1.
    params: Vec<(usize, Param)>,
    /// The expected size of a response in bytes.
    size_hint: usize,
    joins: Vec<Self>,
    /// Whether there is a row even if the parent's key is NULL.
    always_has_row: bool,
    /// The statement that counts all rows.
    total: Option<Box<Self>>,
    /// The cost of traced runs.
    cost: Option<Box<Cost>>,
}

impl<'c> StatementTree<'c> {
    /// Prepares the statements and binds the values that do not change between runs.
    pub(crate) fn prepare(connection: &'c Connection, tree: &Statements) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare(&tree.statement.sql)?;
        let joins = tree.joins.iter().map(|tree| Self::prepare(connection, tree));
        let joins = joins.collect::<Result<_, _>>()?;
        let mut params = Vec::new();
        for (index, param) in (1..).zip(&tree.statement.params) {
            match param {
                Param::Value(value) => statement.raw_bind_parameter(index, Bound(value.as_ref()))?,
                param => params.push((index, param.clone())),
            }
        }
        let total = match &tree.total {
            Some(statement) => {
                let (statement, joins, total) = (statement.clone(), Vec::new(), None);
                let counting = Statements { statement, joins, total, always_has_row: false };
                Some(Box::new(Self::prepare(connection, &counting)?))
            }
            None => None,
        };
        let always_has_row = tree.always_has_row;
        Ok(Self { statement, params, size_hint: 0, joins, always_has_row, total, cost: None })
    }

    /// Returns the memory of the statements in bytes, as SQLite counts it.
    pub(crate) fn bytes(&self) -> usize {
        let statement = usize::try_from(self.statement.get_status(StatementStatus::MemUsed)).unwrap_or(0);
        let params = size_of_val(self.params.as_slice());
        let below = self.joins.iter().chain(self.total.as_deref()).map(Self::bytes).sum::<usize>();
        statement + size_of::<Self>() + params + below
    }

    /// Runs the statements for the plan's target, page and session.
    pub(crate) fn run(&mut self, plan: &Plan) -> Result<JsonBody, ResolveError> {
        self.bind(plan).map_err(failed)?;
        let body = plan.shape(self, self.size_hint)?;
        // The hint follows the largest responses, and decays while they are much smaller.
        let size = body.bytes.len();
        if size > self.size_hint {
            self.size_hint = size.saturating_add(size / 8);
        } else if size < self.size_hint / 4 {
            self.size_hint -= self.size_hint / 16;
        }
        Ok(body)
    }

    /// Binds the values of a run, in all statements. The depth of the recursion is that of the query, which is bounded.
    fn bind(&mut self, plan: &Plan) -> rusqlite::Result<()> {
        for (index, param) in &self.params {
            let value = match (param, plan.target()) {
                (Param::Id, Target::Point(id)) => id.as_ref(),
                (Param::Session(slot), _) => plan.session_value(*slot).as_ref(),
                (Param::After(value), _) => {
                    plan.cursor().and_then(|cursor| cursor.get(*value)).map_or(ValueRef::Null, Value::as_ref)
                }
                // The parent's row has the others.
                _ => continue,
            };
            self.statement.raw_bind_parameter(*index, Bound(value))?;
            if let Some(cost) = &mut self.cost {
                cost.bind(*index, value);
            }
        }
        self.joins.iter_mut().chain(self.total.as_deref_mut()).try_for_each(|below| below.bind(plan))
    }

    /// Measures the cost of later runs.
    fn measure(&mut self) {
        self.cost = Some(Box::default());
        self.joins.iter_mut().for_each(Self::measure);
    }

    /// Adds the costs of this statement and its joins, parents before children.
    fn push_costs(&self, tree: &Statements, node: &Node, traced: &mut Vec<TracedStatement>) {
        traced.extend(self.cost.as_ref().map(|cost| cost.record(&tree.statement, node)));
        for ((join, tree), below) in self.joins.iter().zip(&tree.joins).zip(&node.joins) {
            join.push_costs(tree, &below.node, traced);
        }
    }
}

impl RowSource for StatementTree<'_> {
    type Row<'r> = SqliteRow<'r>;

    fn visit<'p>(
        &mut self,
        parent: Option<&SqliteRow<'p>>,
        mut visitor: impl FnMut(&SqliteRow<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let Self { statement, params, joins, always_has_row, cost, .. } = self;
        if let Some(parent) = parent {
            for (index, param) in params.iter() {
                let Param::Parent(column) = param else { continue };
                let key = parent.cell(*column);
                if key == ValueRef::Null && !*always_has_row {
                    return Ok(());
                }
                statement.raw_bind_parameter(*index, Bound(key)).map_err(failed)?;
                if let Some(cost) = cost {
                    cost.bind(*index, key);
                }
            }
        }
        let mut rows = statement.raw_query();
        if let Some(cost) = cost {
            cost.begin();
        }
        loop {
            let row = rows.next().map_err(failed)?;
            if let Some(cost) = cost {
                cost.pause(row.is_some());
            }
            let Some(row) = row else { return Ok(()) };
            if visitor(&SqliteRow(row), joins)? == Flow::Stop {
                return Ok(());
            }
            if let Some(cost) = cost {
                cost.resume();
            }
        }
    }

    fn total(&mut self) -> Result<u64, ResolveError> {
        let missing = || ResolveError::new("the plan has no statement that counts its rows");
        let mut rows = self.total.as_mut().ok_or_else(missing)?.statement.raw_query();
        let row = rows.next().map_err(failed)?.ok_or_else(missing)?;
        row.get::<_, i64>(0).map(i64::unsigned_abs).map_err(failed)
    }
}

/// Returns the number of rows of a table, counted up to `most`, or `None` for a view.
pub(crate) fn row_count(
    connection: &Connection,
    table: &TableName,
    most: u64,
) -> rusqlite::Result<Option<u64>> {
    const IS_TABLE: &str =
        "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)";
    let is_table: i64 = connection.query_row(IS_TABLE, [&table.name], |row| row.get(0))?;
    if is_table == 0 {
        return Ok(None);
    }
    let rows = Query::select().expr(Expr::value(1)).from(("main", table.name.clone())).limit(most).take();
    let count = Query::select()
        .expr(Func::count(Expr::col(Asterisk)))
        .from_subquery(rows, "rows")
        .to_string(SqliteQueryBuilder);
    let count: i64 = connection.query_row(&count, [], |row| row.get(0))?;
    Ok(Some(count.unsigned_abs()))
}

/// Returns the SQL text of each statement with the steps in which SQLite runs it, parents before children.
pub(crate) fn query_plan(
    connection: &Connection,
    tree: &Statements,
) -> rusqlite::Result<Vec<(String, Vec<String>)>> {
    let mut statement = connection.prepare(&sqlite::explain(&tree.statement))?;
    for index in 1..=tree.statement.params.len() {
        statement.raw_bind_parameter(index, Bound(Value::Null.as_ref()))?;
    }
    let steps = statement.raw_query().mapped(|row| row.get("detail")).collect::<Result<_, _>>()?;
    let mut all = vec![(tree.statement.sql.clone(), steps)];
    for join in &tree.joins {
        all.extend(query_plan(connection, join)?);
    }
    Ok(all)
}
