//! Conversions between SQLite values and mesh-plan values.

use mesh_plan::{Cells, ValueRef};
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use rusqlite::{Row, ToSql};

/// A row in the memory of SQLite.
pub(crate) struct SqliteRow<'r> {
    pub(crate) row: &'r Row<'r>,
    /// The position of the node's first cell in the statement's row, which may hold the cells of several nodes.
    pub(crate) offset: usize,
}

impl<'r> SqliteRow<'r> {
    /// Returns the cells of another node in the row of the statement; `None` if the column `presence` is NULL.
    pub(crate) fn joined(&self, offset: usize, presence: usize) -> Option<Self> {
        let is_present = !matches!(self.row.get_ref(presence), Ok(SqlRef::Null) | Err(_));
        is_present.then_some(Self { row: self.row, offset })
    }
}

impl Cells for SqliteRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        match self.row.get_ref(self.offset + column) {
            Ok(SqlRef::Integer(value)) => ValueRef::Integer(value),
            Ok(SqlRef::Real(value)) => ValueRef::Real(value),
            Ok(SqlRef::Text(value)) => ValueRef::Text(value),
            Ok(SqlRef::Blob(value)) => ValueRef::Bytes(value),
            Ok(SqlRef::Null) | Err(_) => ValueRef::Null,
        }
    }
}

/// A value that is bound without a copy.
pub(crate) struct Bound<'a>(pub(crate) ValueRef<'a>);

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
