//! Cells: conversion of PostgreSQL's binary values to mesh-plan values, and the rows of each level by parent.

use std::cell::OnceCell;

use mesh_plan::{Cells, Flow, Node, ResolveError, RowSource, Value, ValueRef};
use mesh_sql::postgres::Layout;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

mod numeric;
mod time;

/// The columns with the numbers of the level, the parent's row and the row itself. They exist only if there are several
/// levels.
const LEVEL: usize = 0;
const PARENT: usize = 1;
const ROW: usize = 2;

/// All rows of a read: for each level, its rows with the numbers of their parents' rows, in ascending order of these
/// numbers.
pub(super) struct LevelRows(Vec<Vec<(i64, Row)>>);

impl LevelRows {
    pub(super) fn new(rows: Vec<Row>, levels: usize) -> Self {
        // The columns of numbers are missing if there is only one level.
        if levels <= 1 {
            return Self(vec![rows.into_iter().map(|row| (0, row)).collect()]);
        }
        let mut fetched: Vec<Vec<_>> = (0..levels).map(|_| Vec::new()).collect();
        for row in rows {
            let number = |column| integer(&row, column).unwrap_or_default();
            let (level, parent) = (number(LEVEL), number(PARENT));
            if let Some(level) = usize::try_from(level).ok().and_then(|level| fetched.get_mut(level)) {
                level.push((parent, row));
            }
        }
        // PostgreSQL usually returns the rows in this order, but does not guarantee it.
        fetched.iter_mut().for_each(|level| level.sort_by_key(|(parent, _)| *parent));
        Self(fetched)
    }

    /// Returns the rows of a level.
    fn level(&self, level: usize) -> &[(i64, Row)] {
        self.0.get(level).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The rows of one node.
pub(super) struct NodeRowSource<'f> {
    fetched: &'f LevelRows,
    layout: &'f Layout,
    /// Whether the node is a record in the rows of its parents.
    is_joined_record: bool,
    joins: Vec<Self>,
}

impl<'f> NodeRowSource<'f> {
    /// Creates the source of a node and the sources of its joins. The recursion is as deep as the query, whose depth is
    /// bounded.
    pub(super) fn new(fetched: &'f LevelRows, layout: &'f Layout, node: &Node) -> Self {
        let joins = layout.joins.iter().zip(&node.joins).map(|(layout, join)| Self {
            is_joined_record: layout.presence.is_some(),
            ..Self::new(fetched, layout, &join.node)
        });
        Self { fetched, layout, is_joined_record: false, joins: joins.collect() }
    }
}

impl RowSource for NodeRowSource<'_> {
    type Row<'r> = PostgresRow<'r>;

    fn visit<'p>(
        &mut self,
        parent: Option<&PostgresRow<'p>>,
        mut visitor: impl FnMut(&PostgresRow<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let layout = self.layout;
        let mut rows = self.fetched.level(layout.level);
        if let Some(parent) = parent {
            if self.is_joined_record {
                if layout.presence.is_some_and(|index| raw(parent.row, index).is_some()) {
                    visitor(&PostgresRow::new(parent.row, layout), &mut self.joins)?;
                }
                return Ok(());
            }
            let number = integer(parent.row, ROW).unwrap_or_default();
            let start = rows.partition_point(|(parent, _)| *parent < number);
            let end = rows.partition_point(|(parent, _)| *parent <= number);
            rows = rows.get(start..end).unwrap_or_default();
        }
        let Some((_, first)) = rows.first() else { return Ok(()) };
        let mut current = PostgresRow::new(first, layout);
        for (_, row) in rows {
            current = current.next(row);
            if visitor(&current, &mut self.joins)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    fn total(&mut self) -> Result<u64, ResolveError> {
        let counted = self.layout.total.and_then(|(level, column)| {
            let (_, row) = self.fetched.level(level).first()?;
            integer(row, column).map(i64::unsigned_abs)
        });
        counted.ok_or_else(|| ResolveError::new("the statement did not count its rows"))
    }
}

/// The part of a row that belongs to one node.
pub(super) struct PostgresRow<'r> {
    row: &'r Row,
    layout: &'r Layout,
    /// Converted cells, by column.
    converted: OnceCell<Box<[OnceCell<Converted>]>>,
}

/// A scalar that was converted from its binary form.
enum Converted {
    Integer(i64),
    Real(f64),
    Text(String),
    Time(time::TimeText),
}

impl<'r> PostgresRow<'r> {
    fn new(row: &'r Row, layout: &'r Layout) -> Self {
        Self { row, layout, converted: OnceCell::new() }
    }

    /// Moves to another row of the same layout, and reuses the memory of this one.
    fn next(mut self, row: &'r Row) -> Self {
        if let Some(cells) = self.converted.get_mut() {
            cells.iter_mut().for_each(|cell| drop(cell.take()));
        }
        Self { row, ..self }
    }

    /// Returns a converted cell, from the cache if possible. The database sends no value that cannot be converted.
    fn convert(&self, column: usize, convert: impl FnOnce() -> Option<Converted>) -> ValueRef<'_> {
        let cells =
            self.converted.get_or_init(|| self.layout.columns.iter().map(|_| OnceCell::new()).collect());
        let Some(cell) = cells.get(column) else { return ValueRef::Null };
        match cell.get_or_init(|| convert().unwrap_or(Converted::Text(String::new()))) {
            Converted::Integer(value) => ValueRef::Integer(*value),
            Converted::Real(value) => ValueRef::Real(*value),
            Converted::Text(text) => ValueRef::Text(text.as_bytes()),
            Converted::Time(text) => ValueRef::Text(text.as_bytes()),
        }
    }
}

impl Cells for PostgresRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        let Some(index) = self.layout.columns.get(column).copied().flatten() else { return ValueRef::Null };
        let (Some(bytes), Some(sent)) = (raw(self.row, index), self.row.columns().get(index)) else {
            return ValueRef::Null;
        };
        match *sent.type_() {
            Type::INT2 | Type::INT4 | Type::INT8 => {
                be_integer(bytes).map_or(ValueRef::Null, ValueRef::Integer)
            }
            Type::BOOL => ValueRef::Boolean(bytes.first().is_some_and(|byte| *byte != 0)),
            Type::FLOAT8 => {
                bytes.try_into().map_or(ValueRef::Null, |it| ValueRef::Real(f64::from_be_bytes(it)))
            }
            Type::FLOAT4 => bytes.try_into().map_or(ValueRef::Null, |it| {
                let value = f32::from_be_bytes(it);
                // The double that has the same shortest decimal representation as the single.
                ValueRef::Real(value.to_string().parse().unwrap_or_else(|_| f64::from(value)))
            }),
            Type::JSONB => ValueRef::Text(bytes.get(1..).unwrap_or_default()),
            Type::BYTEA => ValueRef::Bytes(bytes),
            Type::NUMERIC => self.convert(column, || numeric::read(bytes)),
            Type::UUID => self.convert(column, || {
                Some(Converted::Text(Uuid::from_slice(bytes).ok()?.hyphenated().to_string()))
            }),
            Type::DATE => self.convert(column, || time::date(bytes).map(Converted::Time)),
            Type::TIMESTAMP => self.convert(column, || time::timestamp(bytes, false).map(Converted::Time)),
            Type::TIMESTAMPTZ => self.convert(column, || time::timestamp(bytes, true).map(Converted::Time)),
            // Statements cast all other types to text.
            _ => ValueRef::Text(bytes),
        }
    }
}

/// Returns a cell as an owned value.
pub(super) fn value(row: &Row, index: usize) -> Value {
    let layout = Layout { columns: vec![Some(index)], ..Layout::default() };
    PostgresRow::new(row, &layout).cell(0).to_value()
}

/// The bytes of a cell.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Returns the bytes of a cell; `None` for NULL or if there is no such cell.
fn raw(row: &Row, index: usize) -> Option<&[u8]> {
    row.try_get::<_, Option<Raw<'_>>>(index).ok().flatten().map(|raw| raw.0)
}

pub(crate) fn integer(row: &Row, index: usize) -> Option<i64> {
    be_integer(raw(row, index)?)
}

fn be_integer(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        2 => bytes.try_into().ok().map(|it| i16::from_be_bytes(it).into()),
        4 => bytes.try_into().ok().map(|it| i32::from_be_bytes(it).into()),
        8 => bytes.try_into().ok().map(i64::from_be_bytes),
        _ => None,
    }
}
