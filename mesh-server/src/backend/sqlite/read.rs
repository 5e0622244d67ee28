//! How is one plan read? Its statements, run parent by parent straight into the shaper.

use super::sum;
use mesh_plan::sql::{Param, Statements};
use mesh_plan::{Cells, Flow, JsonBody, Plan, ResolveError, RowSource, Target, Value, ValueRef};
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, Row, ToSql};

/// Reads a plan in one transaction, so that all its rows are of one moment.
pub(super) fn run(connection: &Connection, plan: &Plan) -> Result<JsonBody, ResolveError> {
    execute(connection, "BEGIN").map_err(failed)?;
    let result = Source::prepare(connection, plan.statements(), plan.target())
        .map_err(failed)
        .and_then(|mut source| plan.shape(&mut source));
    let ended = execute(connection, "COMMIT").map_err(failed);
    result.and_then(|body| ended.map(|()| body))
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// What a failure of SQLite means for a read.
pub(super) fn failed(error: rusqlite::Error) -> ResolveError {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => ResolveError::TimedOut,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ResolveError::Busy,
        _ if is_overflow(&error) => ResolveError::SumOverflow,
        _ => ResolveError::new(error),
    }
}

fn is_overflow(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(_, Some(message)) if message == sum::OVERFLOW)
}

/// A prepared statement with those below it.
struct Source<'c> {
    statement: CachedStatement<'c>,
    /// Places of parameters, counted from 1, and the parent's columns that fill them.
    parents: Vec<(usize, usize)>,
    joins: Vec<Self>,
}

impl<'c> Source<'c> {
    /// Prepares the statements and binds all that does not depend on a parent.
    fn prepare(connection: &'c Connection, tree: &Statements, target: &Target) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare_cached(&tree.statement.sql)?;
        let mut parents = Vec::new();
        for (index, param) in tree.statement.params.iter().enumerate() {
            let place = index + 1;
            match (param, target) {
                (Param::Value(value), _) | (Param::Id, Target::Point(value)) => {
                    statement.raw_bind_parameter(place, Bound(value.as_ref()))?;
                }
                (Param::Parent(column), _) => parents.push((place, *column)),
                // Only statements of point reads have it.
                (Param::Id, Target::Collection) => {}
            }
        }
        let joins = tree.joins.iter().map(|tree| Self::prepare(connection, tree, target));
        Ok(Self { statement, parents, joins: joins.collect::<Result<_, _>>()? })
    }
}

impl RowSource for Source<'_> {
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

/// A row where SQLite holds it.
struct SqliteRow<'r>(&'r Row<'r>);

impl Cells for SqliteRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        match self.0.get_ref(column) {
            Ok(SqlRef::Integer(value)) => ValueRef::Integer(value),
            Ok(SqlRef::Real(value)) => ValueRef::Real(value),
            Ok(SqlRef::Text(value)) => ValueRef::Text(value),
            Ok(SqlRef::Blob(value)) => ValueRef::Bytes(value),
            Ok(SqlRef::Null) | Err(_) => ValueRef::Null,
        }
    }
}

/// A value that is bound without a copy of our own.
struct Bound<'a>(ValueRef<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            ValueRef::Null => SqlRef::Null,
            ValueRef::Boolean(value) => SqlRef::Integer(value.into()),
            ValueRef::Integer(value) => SqlRef::Integer(value),
            ValueRef::Real(value) => SqlRef::Real(value),
            ValueRef::Text(value) => SqlRef::Text(value),
            ValueRef::Bytes(value) => SqlRef::Blob(value),
        }))
    }
}

/// SQLite's own account of how it runs each statement, parents before children.
pub(super) fn query_plan(
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
