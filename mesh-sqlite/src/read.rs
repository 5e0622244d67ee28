//! Reads: the statements of a plan, run for each parent row, whose rows are written directly into the answer.

mod export;
pub(crate) mod sort_bound;
#[cfg(test)]
mod tests;
mod trace;

use std::borrow::Borrow;

use mesh_plan::backend::{Cells as _, Flow, RowSource, Trace, TracedStatement};
use mesh_plan::{JsonBody, Key, Node, Plan, ResolveError, Value, ValueRef};
use mesh_schema::TableName;
use mesh_sql::Statement;
use mesh_sql::sqlite::{NodeRows, Param, Statements};
use rusqlite::{CachedStatement, Connection, ErrorCode, Row, StatementStatus};
use sea_query::{Asterisk, Expr, Func, Query, SqliteQueryBuilder};

use crate::cells::{BoundValue, SqliteRow};
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

/// Converts a SQLite error to a read error.
pub(crate) fn failed(error: impl Borrow<rusqlite::Error>) -> ResolveError {
    let error = error.borrow();
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => ResolveError::TimedOut,
        // SQLite returns the last code if other processes open or close the log too often at the same time.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            ResolveError::Busy
        }
        _ if is_overflow(error) => ResolveError::SumOverflow,
        _ => match unknown_zone(error) {
            Some(zone) => ResolveError::UnknownZone { zone },
            None => ResolveError::new(error.to_string()),
        },
    }
}

fn is_overflow(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(_, Some(message)) if message == functions::OVERFLOW)
}

/// Returns the name of a time zone that a statement has not found.
fn unknown_zone(error: &rusqlite::Error) -> Option<String> {
    let rusqlite::Error::SqliteFailure(_, Some(message)) = error else { return None };
    message.strip_prefix(functions::UNKNOWN_ZONE).map(str::to_owned)
}

/// The prepared statements of a node and its joins.
pub(crate) struct StatementTree<'c> {
    rows: PreparedRows<'c>,
    /// The expected size of a response in bytes.
    size_hint: usize,
    joins: Vec<Self>,
    /// The statement that counts all rows.
    total: Option<Box<PreparedStatement<'c>>>,
}

/// The source of a node's rows.
enum PreparedRows<'c> {
    Statement {
        statement: PreparedStatement<'c>,
        /// Whether there is a row even if the parent's key is NULL.
        always_has_row: bool,
    },
    /// The rows are part of the parent's rows, from `offset` on, if the column `presence` is not NULL.
    Joined { offset: usize, presence: usize },
}

struct PreparedStatement<'c> {
    statement: CachedStatement<'c>,
    /// The parameters that change between runs, with their indexes, counted from 1.
    params: Vec<(usize, Param)>,
    /// The cost of traced runs.
    cost: Option<Box<Cost>>,
}

impl<'c> PreparedStatement<'c> {
    /// Takes a statement from the cache of the connection, or prepares it, and binds the values that do not change between runs.
    fn new(connection: &'c Connection, statement: &Statement<Param>) -> rusqlite::Result<Self> {
        let mut prepared = connection.prepare_cached(&statement.sql)?;
        let mut params = Vec::new();
        for (index, param) in (1..).zip(&statement.params) {
            match param {
                Param::Value(value) => prepared.raw_bind_parameter(index, BoundValue(value.as_ref()))?,
                param => params.push((index, param.clone())),
            }
        }
        Ok(Self { statement: prepared, params, cost: None })
    }

    /// Returns the memory of the statement in bytes, as SQLite counts it.
    fn bytes(&self) -> usize {
        let statement = usize::try_from(self.statement.get_status(StatementStatus::MemUsed)).unwrap_or(0);
        statement + size_of_val(self.params.as_slice())
    }

    /// Binds the values of a run.
    fn bind(&mut self, plan: &Plan) -> rusqlite::Result<()> {
        for (index, param) in &self.params {
            if let Param::Parent(_) = param {
                continue;
            }
            let value = param.value_for_read(plan);
            let value = (*value).as_ref();
            self.statement.raw_bind_parameter(*index, BoundValue(value))?;
            if let Some(cost) = &mut self.cost {
                cost.bind(*index, value);
            }
        }
        Ok(())
    }

    /// Visits the rows of a run until the visitor stops.
    fn visit(
        &mut self,
        mut visitor: impl FnMut(&Row<'_>) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let mut rows = self.statement.raw_query();
        if let Some(cost) = &mut self.cost {
            cost.begin();
        }
        loop {
            let row = rows.next().map_err(failed)?;
            if let Some(cost) = &mut self.cost {
                cost.pause(row.is_some());
            }
            let Some(row) = row else { return Ok(()) };
            if visitor(row)? == Flow::Stop {
                return Ok(());
            }
            if let Some(cost) = &mut self.cost {
                cost.resume();
            }
        }
    }

    /// Binds the keys of a parent. Returns whether all have a value.
    fn bind_parent(&mut self, parent: &SqliteRow<'_>) -> Result<bool, ResolveError> {
        let mut has_keys = true;
        for (index, param) in self.params.iter() {
            let Param::Parent(column) = param else { continue };
            let key = parent.cell(*column);
            has_keys &= key != ValueRef::Null;
            self.statement.raw_bind_parameter(*index, BoundValue(key)).map_err(failed)?;
            if let Some(cost) = &mut self.cost {
                cost.bind(*index, key);
            }
        }
        Ok(has_keys)
    }
}

impl<'c> StatementTree<'c> {
    /// Prepares the statements and binds the values that do not change between runs.
    pub(crate) fn prepare(connection: &'c Connection, tree: &Statements) -> rusqlite::Result<Self> {
        let rows = match &tree.rows {
            NodeRows::Statement { statement, always_has_row } => PreparedRows::Statement {
                statement: PreparedStatement::new(connection, statement)?,
                always_has_row: *always_has_row,
            },
            NodeRows::Joined { offset, presence } => {
                PreparedRows::Joined { offset: *offset, presence: *presence }
            }
        };
        let joins =
            tree.joins.iter().map(|tree| Self::prepare(connection, tree)).collect::<Result<_, _>>()?;
        let total = tree.total.as_ref().map(|total| PreparedStatement::new(connection, total));
        Ok(Self { rows, size_hint: 0, joins, total: total.transpose()?.map(Box::new) })
    }

    /// Returns the statements of this node.
    fn statements(&self) -> impl Iterator<Item = &PreparedStatement<'c>> {
        let own = match &self.rows {
            PreparedRows::Statement { statement, .. } => Some(statement),
            PreparedRows::Joined { .. } => None,
        };
        own.into_iter().chain(self.total.as_deref())
    }

    /// Returns the memory of the statements in bytes, as SQLite counts it.
    pub(crate) fn bytes(&self) -> usize {
        let statements = self.statements().map(PreparedStatement::bytes).sum::<usize>();
        statements + size_of::<Self>() + self.joins.iter().map(Self::bytes).sum::<usize>()
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

    /// Runs the statements of a plan of [`Plan::for_records`] for these ids.
    pub(crate) fn run_records(
        &mut self,
        plan: &Plan,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, ResolveError> {
        self.bind(plan).map_err(failed)?;
        plan.shape_records(self, ids)
    }

    /// Returns mutable references to the statements of this node.
    fn statements_mut(&mut self) -> impl Iterator<Item = &mut PreparedStatement<'c>> {
        let own = match &mut self.rows {
            PreparedRows::Statement { statement, .. } => Some(statement),
            PreparedRows::Joined { .. } => None,
        };
        own.into_iter().chain(self.total.as_deref_mut())
    }

    /// Binds the values of a run in all statements. The recursion is as deep as the query, whose depth is bounded.
    fn bind(&mut self, plan: &Plan) -> rusqlite::Result<()> {
        self.statements_mut().try_for_each(|statement| statement.bind(plan))?;
        self.joins.iter_mut().try_for_each(|below| below.bind(plan))
    }

    /// Measures the cost of later runs.
    fn measure(&mut self) {
        self.statements_mut().for_each(|statement| statement.cost = Some(Box::default()));
        self.joins.iter_mut().for_each(Self::measure);
    }

    /// Adds the costs of this statement and its joins, parents before children.
    fn push_costs(&self, tree: &Statements, node: &Node, traced: &mut Vec<TracedStatement>) {
        if let (PreparedRows::Statement { statement, .. }, Some(text)) = (&self.rows, tree.rows.statement()) {
            traced.extend(statement.cost.as_ref().map(|cost| cost.record(text, node)));
        }
        if let (Some(statement), Some(text)) = (&self.total, &tree.total) {
            traced.extend(statement.cost.as_ref().map(|cost| cost.record(text, node)));
        }
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
        let Self { rows, joins, .. } = self;
        let (prepared, always_has_row) = match rows {
            PreparedRows::Statement { statement, always_has_row } => (statement, *always_has_row),
            PreparedRows::Joined { offset, presence } => {
                return match parent.and_then(|parent| parent.joined(*offset, *presence)) {
                    Some(row) => visitor(&row, joins).map(drop),
                    None => Ok(()),
                };
            }
        };
        if let Some(parent) = parent
            && !prepared.bind_parent(parent)?
            && !always_has_row
        {
            return Ok(());
        }
        prepared.visit(|row| visitor(&SqliteRow::new(row, 0), joins))
    }

    fn total(&mut self) -> Result<u64, ResolveError> {
        let missing = || ResolveError::new("the plan has no statement that counts its rows");
        let mut total = None;
        self.total.as_mut().ok_or_else(missing)?.visit(|row| {
            total = Some(row.get::<_, i64>(0).map_err(failed)?.unsigned_abs());
            Ok(Flow::Stop)
        })?;
        total.ok_or_else(missing)
    }
}

/// Returns the number of rows of a table, counted up to `max`, or `None` for a view.
pub(crate) fn row_count(
    connection: &Connection,
    table: &TableName,
    max: u64,
) -> rusqlite::Result<Option<u64>> {
    if !connection.table_exists(Some("main"), table.name.as_str())? {
        return Ok(None);
    }
    let rows = Query::select().expr(Expr::value(1)).from(("main", table.name.clone())).limit(max).take();
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
    tree.iter().map(|statement| Ok((statement.sql.clone(), steps(connection, statement)?))).collect()
}

/// Returns the steps in which SQLite runs a statement.
fn steps(connection: &Connection, statement: &Statement<Param>) -> rusqlite::Result<Vec<String>> {
    let mut explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", statement.sql))?;
    for index in 1..=statement.params.len() {
        explained.raw_bind_parameter(index, BoundValue(Value::Null.as_ref()))?;
    }
    explained.raw_query().mapped(|row| row.get("detail")).collect()
}
