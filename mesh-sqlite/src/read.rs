//! Reads: the statements of a plan, run for each parent row and written straight into the answer.

#[cfg(test)]
mod tests;

use mesh_plan::sql::sqlite::{Param, Statements};
use mesh_plan::{Cells as _, Flow, JsonBody, Plan, ResolveError, RowSource, Target, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode};

use crate::cells::{Bound, SqliteRow};
use crate::functions;

/// Reads a plan inside a transaction that is under way.
pub(crate) fn inside(
    connection: &Connection,
    plan: &Plan,
    statements: &Statements,
) -> Result<JsonBody, ResolveError> {
    StatementTree::prepare(connection, statements).map_err(failed)?.run(plan)
}

/// What a failure of SQLite means for a read.
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

/// A prepared statement with those below it.
pub(crate) struct StatementTree<'c> {
    statement: CachedStatement<'c>,
    /// Places of parameters, counted from 1, and the parent's columns that fill them.
    parents: Vec<(usize, usize)>,
    /// Places of the id of a point read.
    ids: Vec<usize>,
    /// Places of values of the session, and which ones.
    session: Vec<(usize, usize)>,
    /// Places of values of a cursor, and which ones.
    after: Vec<(usize, usize)>,
    /// The expected size of a response in bytes.
    size_hint: usize,
    joins: Vec<Self>,
}

impl<'c> StatementTree<'c> {
    /// Prepares the statements and binds what is the same in every run.
    pub(crate) fn prepare(connection: &'c Connection, tree: &Statements) -> rusqlite::Result<Self> {
        let statement = connection.prepare_cached(&tree.statement.sql)?;
        let joins = tree.joins.iter().map(|tree| Self::prepare(connection, tree));
        let joins = joins.collect::<Result<_, _>>()?;
        let (parents, ids, session, after) = Default::default();
        let mut source = Self { statement, parents, ids, session, after, size_hint: 0, joins };
        for (place, param) in (1..).zip(&tree.statement.params) {
            match param {
                Param::Value(value) => source.statement.raw_bind_parameter(place, Bound(value.as_ref()))?,
                Param::Parent(column) => source.parents.push((place, *column)),
                Param::Session(slot) => source.session.push((place, *slot)),
                Param::After(value) => source.after.push((place, *value)),
                Param::Id => source.ids.push(place),
            }
        }
        Ok(source)
    }

    /// Runs the statements for the plan's target, page and session.
    pub(crate) fn run(&mut self, plan: &Plan) -> Result<JsonBody, ResolveError> {
        if let Target::Point(id) = plan.target() {
            for place in &self.ids {
                self.statement.raw_bind_parameter(*place, Bound(id.as_ref())).map_err(failed)?;
            }
        }
        for (place, value) in &self.after {
            let value =
                plan.after().and_then(|after| after.get(*value)).map_or(ValueRef::Null, Value::as_ref);
            self.statement.raw_bind_parameter(*place, Bound(value)).map_err(failed)?;
        }
        self.bind_session(plan).map_err(failed)?;
        let body = plan.shape(self, self.size_hint)?;
        // Follows the largest responses, and decays while they are much smaller.
        let size = body.bytes.len();
        if size > self.size_hint {
            self.size_hint = size.saturating_add(size / 8);
        } else if size < self.size_hint / 4 {
            self.size_hint -= self.size_hint / 16;
        }
        Ok(body)
    }

    /// Plans are nested as deep as queries, which is bounded.
    fn bind_session(&mut self, plan: &Plan) -> rusqlite::Result<()> {
        for (place, slot) in &self.session {
            self.statement.raw_bind_parameter(*place, Bound(plan.session_value(*slot).as_ref()))?;
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
            for (place, column) in &self.parents {
                match parent.cell(*column) {
                    ValueRef::Null => return Ok(()),
                    ValueRef::Integer(key) => {
                        self.statement.raw_bind_parameter(*place, key).map_err(failed)?
                    }
                    key => self.statement.raw_bind_parameter(*place, Bound(key)).map_err(failed)?,
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

/// SQLite's own account of how it runs each statement, parents before children.
pub(crate) fn query_plan(
    connection: &Connection,
    tree: &Statements,
) -> rusqlite::Result<Vec<(String, Vec<String>)>> {
    let sql = &tree.statement.sql;
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    for place in 1..=tree.statement.params.len() {
        statement.raw_bind_parameter(place, Bound(Value::Null.as_ref()))?;
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
