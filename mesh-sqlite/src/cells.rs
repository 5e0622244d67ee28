//! Conversions between values of SQLite and of mesh-plan.

use mesh_plan::{Cells, ValueRef};
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use rusqlite::{Row, ToSql};

/// A row in the memory of SQLite.
pub(crate) struct SqliteRow<'r>(pub(crate) &'r Row<'r>);

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
