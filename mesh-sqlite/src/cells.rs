//! Conversions between SQLite values and mesh-plan values.

use mesh_plan::backend::Cells;
use mesh_plan::{Value, ValueRef};
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use rusqlite::{Row, Statement, ToSql};

/// The cells of a node in a row in the memory of SQLite.
pub(crate) struct SqliteRow<'r> {
    row: &'r Row<'r>,
    /// The position of the node's first cell in the statement's row, which may hold the cells of several nodes.
    offset: usize,
    /// The node's first cell. It is needed for the response, and usually shows that there is a record.
    first: ValueRef<'r>,
}

impl<'r> SqliteRow<'r> {
    /// Returns the cells of a node, which begin at an offset.
    pub(crate) fn new(row: &'r Row<'r>, offset: usize) -> Self {
        Self { row, offset, first: cell(row, offset) }
    }

    /// Returns the cells of another node in the row of the statement; `None` if there is no record, since its first cell and the
    /// column `presence` are NULL.
    pub(crate) fn joined(&self, offset: usize, presence: usize) -> Option<Self> {
        let joined = Self::new(self.row, offset);
        let is_present = joined.first != ValueRef::Null || cell(self.row, presence) != ValueRef::Null;
        is_present.then_some(joined)
    }
}

impl Cells for SqliteRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        if column == 0 { self.first } else { cell(self.row, self.offset + column) }
    }
}

fn cell<'r>(row: &'r Row<'_>, column: usize) -> ValueRef<'r> {
    row.get_ref(column).map_or(ValueRef::Null, from_sql)
}

/// Converts a value of SQLite.
pub(crate) fn from_sql(value: SqlRef<'_>) -> ValueRef<'_> {
    match value {
        SqlRef::Integer(value) => ValueRef::Integer(value),
        SqlRef::Real(value) => ValueRef::Real(value),
        SqlRef::Text(value) => ValueRef::Text(value),
        SqlRef::Blob(value) => ValueRef::Bytes(value),
        SqlRef::Null => ValueRef::Null,
    }
}

/// Binds the values of the parameters of a statement.
pub(crate) fn bind<'v>(
    statement: &mut Statement<'_>,
    values: impl Iterator<Item = Option<&'v Value>>,
) -> rusqlite::Result<()> {
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, BoundValue(value.map_or(ValueRef::Null, Value::as_ref)))?;
    }
    Ok(())
}

/// Runs a statement whose parameters are bound, and returns the cells of its rows.
pub(crate) fn rows<R: FromIterator<Value>>(statement: &mut Statement<'_>) -> rusqlite::Result<Vec<R>> {
    let width = statement.column_count();
    let (mut found, mut rows) = (Vec::new(), statement.raw_query());
    while let Some(row) = rows.next()? {
        found.push((0..width).map(|column| cell(row, column).to_value()).collect());
    }
    Ok(found)
}

/// A value that is bound without a copy.
pub(crate) struct BoundValue<'a>(pub(crate) ValueRef<'a>);

impl ToSql for BoundValue<'_> {
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
