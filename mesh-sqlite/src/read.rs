//! Reads: the statements of a plan, run for each parent row and written straight into the answer.

#[cfg(test)]
mod tests;
mod trace;

use mesh_plan::sql::sqlite::{Param, Statements};
use mesh_plan::{Cells as _, Flow, JsonBody, Plan, ResolveError, RowSource, Target, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode};

use crate::cells::{Bound, SqliteRow};
use crate::functions;

/// Reads a plan inside an open transaction.
pub(crate) fn read_in_transaction(
    connection: &Connection,
    plan: &Plan,
    statements: &Statements,
) -> Result<JsonBody, ResolveError> {
    StatementTree::prepare(connection, statements).map_err(failed)?.run(plan)
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
    statement: CachedStatement<'c>,
    /// Parameters, counted from 1, with the columns of the parent row that are bound to them.
    parent_params: Vec<(usize, usize)>,
    /// Parameters for the id of a point read.
    id_params: Vec<usize>,
    /// Parameters, with the numbers of the session values that are bound to them.
    session_params: Vec<(usize, usize)>,
    /// Parameters, with the numbers of the cursor values that are bound to them.
    cursor_params: Vec<(usize, usize)>,
    /// The expected size of a response in bytes.
    size_hint: usize,
    joins: Vec<Self>,
}

impl<'c> StatementTree<'c> {
    /// Prepares the statements and binds the values that do not change between runs.
    pub(crate) fn prepare(connection: &'c Connection, tree: &Statements) -> rusqlite::Result<Self> {
        let statement = connection.prepare_cached(&tree.statement.sql)?;
        let joins = tree.joins.iter().map(|tree| Self::prepare(connection, tree));
        let joins = joins.collect::<Result<_, _>>()?;
        let (parent_params, id_params, session_params, cursor_params) = Default::default();
        let mut prepared =
            Self { statement, parent_params, id_params, session_params, cursor_params, size_hint: 0, joins };
        for (index, param) in (1..).zip(&tree.statement.params) {
            match param {
                Param::Value(value) => prepared.statement.raw_bind_parameter(index, Bound(value.as_ref()))?,
                Param::Parent(column) => prepared.parent_params.push((index, *column)),
                Param::Session(slot) => prepared.session_params.push((index, *slot)),
                Param::After(value) => prepared.cursor_params.push((index, *value)),
                Param::Id => prepared.id_params.push(index),
            }
        }
        Ok(prepared)
    }

    /// Runs the statements for the plan's target, page and session.
    pub(crate) fn run(&mut self, plan: &Plan) -> Result<JsonBody, ResolveError> {
        if let Target::Point(id) = plan.target() {
            for index in &self.id_params {
                self.statement.raw_bind_parameter(*index, Bound(id.as_ref())).map_err(failed)?;
            }
        }
        for (index, value) in &self.cursor_params {
            let value =
                plan.after().and_then(|after| after.get(*value)).map_or(ValueRef::Null, Value::as_ref);
            self.statement.raw_bind_parameter(*index, Bound(value)).map_err(failed)?;
        }
        self.bind_session(plan).map_err(failed)?;
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

    /// Binds the session values of all statements. The depth of the recursion is that of the query, which is bounded.
    fn bind_session(&mut self, plan: &Plan) -> rusqlite::Result<()> {
        for (index, slot) in &self.session_params {
            self.statement.raw_bind_parameter(*index, Bound(plan.session_value(*slot).as_ref()))?;
        }
        self.joins.iter_mut().try_for_each(|join| join.bind_session(plan))
    }
}

impl RowSource for StatementTree<'_> {
    type Row<'r> = SqliteRow<'r>;

    fn visit<'p>(
        &mut self,
        parent: Option<&SqliteRow<'p>>,
        mut visitor: impl FnMut(&SqliteRow<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        if let Some(parent) = parent {
            for (index, column) in &self.parent_params {
                match parent.cell(*column) {
                    ValueRef::Null => return Ok(()),
                    ValueRef::Integer(key) => {
                        self.statement.raw_bind_parameter(*index, key).map_err(failed)?
                    }
                    key => self.statement.raw_bind_parameter(*index, Bound(key)).map_err(failed)?,
                }
            }
        }
        let mut rows = self.statement.raw_query();
        while let Some(row) = rows.next().map_err(failed)? {
            if visitor(&SqliteRow(row), &mut self.joins)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// Makes SQLite describe a statement instead of running it.
const EXPLAIN: &str = "EXPLAIN QUERY PLAN ";

/// Returns the SQL text of each statement with the steps in which SQLite runs it, parents before children.
pub(crate) fn query_plan(
    connection: &Connection,
    tree: &Statements,
) -> rusqlite::Result<Vec<(String, Vec<String>)>> {
    let sql = &tree.statement.sql;
    let mut statement = connection.prepare(&[EXPLAIN, sql].concat())?;
    for index in 1..=tree.statement.params.len() {
        statement.raw_bind_parameter(index, Bound(Value::Null.as_ref()))?;
    }
    let mut steps = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        steps.push(row.get("detail")?);
    }
    let mut all = vec![(sql.clone(), steps)];
    for join in &tree.joins {
        all.extend(query_plan(connection, join)?);
    }
    Ok(all)
}
