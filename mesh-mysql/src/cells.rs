//! Cells: conversion of the driver's values to mesh-plan values, and the rows of each level by parent.

use std::cell::OnceCell;
use std::fmt::Write as _;

use mesh_plan::{Cells, Flow, JoinForm, Node, ResolveError, RowSource, Value, ValueRef};
use mesh_sql::mysql::Layout;
use mysql_async::consts::ColumnType;
use mysql_async::{Column, Row, Value as Cell};

/// The columns with the numbers of the level, the parent's row and the row itself. They exist only if there are several
/// levels.
const LEVEL: usize = 0;
const PARENT: usize = 1;
const ROW: usize = 2;

/// The number of decimal digits that a double represents exactly.
const EXACT_DIGITS: usize = 15;
/// The least absolute value of a double that is written without an exponent.
const EXACT_MIN: f64 = 1e-4;

/// The number of the character set `binary`.
const BINARY: u16 = 63;

/// A row with the numbers of its parent's row and of itself.
type NumberedRow = (i64, i64, Row);

/// All rows of a read, by level, in their order.
pub(super) struct LevelRows(Vec<Vec<NumberedRow>>);

impl LevelRows {
    pub(super) fn new(rows: Vec<Row>, levels: usize) -> Self {
        // The columns of numbers are missing if there is only one level, whose rows are in order.
        if levels <= 1 {
            return Self(vec![rows.into_iter().map(|row| (0, 0, row)).collect()]);
        }
        let mut fetched: Vec<Vec<_>> = (0..levels).map(|_| Vec::new()).collect();
        for row in rows {
            let number = |column| integer(&row, column).unwrap_or_default();
            let (level, parent, number) = (number(LEVEL), number(PARENT), number(ROW));
            if let Some(level) = usize::try_from(level).ok().and_then(|level| fetched.get_mut(level)) {
                level.push((parent, number, row));
            }
        }
        for level in &mut fetched {
            level.sort_unstable_by_key(|(parent, number, _)| (*parent, *number));
        }
        Self(fetched)
    }

    /// Returns the rows of a level.
    fn level(&self, level: usize) -> &[NumberedRow] {
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
        let joins = layout.joins.iter().zip(&node.joins).map(|(child, join)| Self {
            is_joined_record: join.form == JoinForm::Record && child.level == layout.level,
            ..Self::new(fetched, child, &join.node)
        });
        Self { fetched, layout, is_joined_record: false, joins: joins.collect() }
    }
}

impl RowSource for NodeRowSource<'_> {
    type Row<'r> = MySqlRow<'r>;

    fn visit<'p>(
        &mut self,
        parent: Option<&MySqlRow<'p>>,
        mut visitor: impl FnMut(&MySqlRow<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let layout = self.layout;
        let mut rows = self.fetched.level(layout.level);
        if let Some(parent) = parent {
            if self.is_joined_record {
                if layout.presence.is_some_and(|index| !is_null(parent.row, index)) {
                    visitor(&MySqlRow::new(parent.row, layout), &mut self.joins)?;
                }
                return Ok(());
            }
            let number = integer(parent.row, ROW).unwrap_or_default();
            let start = rows.partition_point(|(parent, ..)| *parent < number);
            let end = rows.partition_point(|(parent, ..)| *parent <= number);
            rows = rows.get(start..end).unwrap_or_default();
        }
        let Some((.., first)) = rows.first() else { return Ok(()) };
        let mut current = MySqlRow::new(first, layout);
        for (.., row) in rows {
            current = current.next(row);
            if visitor(&current, &mut self.joins)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    fn total(&mut self) -> Result<u64, ResolveError> {
        let counted = self.layout.total.and_then(|(level, column)| {
            let (.., row) = self.fetched.level(level).first()?;
            integer(row, column).map(i64::unsigned_abs)
        });
        counted.ok_or_else(|| ResolveError::new("the statement did not count its rows"))
    }
}

/// The part of a row that belongs to one node.
pub(super) struct MySqlRow<'r> {
    row: &'r Row,
    layout: &'r Layout,
    /// The text forms of cells that are not text, by column.
    texts: OnceCell<Box<[OnceCell<String>]>>,
}

impl<'r> MySqlRow<'r> {
    fn new(row: &'r Row, layout: &'r Layout) -> Self {
        Self { row, layout, texts: OnceCell::new() }
    }

    /// Moves to another row of the same layout, and reuses the memory of this one.
    fn next(mut self, row: &'r Row) -> Self {
        if let Some(cells) = self.texts.get_mut() {
            cells.iter_mut().for_each(|cell| drop(cell.take()));
        }
        Self { row, ..self }
    }

    /// Returns the text of a cell, from the cache if possible.
    fn text(&self, column: usize, text: impl FnOnce() -> String) -> ValueRef<'_> {
        let cells = self.texts.get_or_init(|| self.layout.columns.iter().map(|_| OnceCell::new()).collect());
        match cells.get(column) {
            Some(cell) => ValueRef::Text(cell.get_or_init(text).as_bytes()),
            None => ValueRef::Null,
        }
    }
}

impl Cells for MySqlRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        let index = self.layout.columns.get(column).copied().flatten();
        match index.and_then(|index| self.row.as_ref(index)) {
            // The database allows dates without a month or a day, which are not valid dates.
            Some(Cell::Date(_, 0, ..) | Cell::Date(_, _, 0, ..)) => ValueRef::Null,
            _ => self.sort_value(column),
        }
    }

    fn sort_value(&self, column: usize) -> ValueRef<'_> {
        let Some(index) = self.layout.columns.get(column).copied().flatten() else { return ValueRef::Null };
        let (Some(cell), Some(sent)) = (self.row.as_ref(index), self.row.columns_ref().get(index)) else {
            return ValueRef::Null;
        };
        match cell {
            Cell::NULL => ValueRef::Null,
            Cell::Int(value) => ValueRef::Integer(*value),
            Cell::UInt(value) => match i64::try_from(*value) {
                Ok(value) => ValueRef::Integer(value),
                Err(_) => self.text(column, || value.to_string()),
            },
            // The double that has the same shortest decimal representation as the single.
            Cell::Float(value) => {
                ValueRef::Real(value.to_string().parse().unwrap_or_else(|_| f64::from(*value)))
            }
            Cell::Double(value) => ValueRef::Real(*value),
            Cell::Bytes(bytes) if is_binary(sent) => ValueRef::Bytes(bytes),
            Cell::Bytes(text) if sent.column_type() == ColumnType::MYSQL_TYPE_NEWDECIMAL => exact(text),
            Cell::Bytes(text) => ValueRef::Text(text),
            Cell::Date(year, month, day, hour, minute, second, micros) => self.text(column, || {
                let mut text = format!("{year:04}-{month:02}-{day:02}");
                if sent.column_type() != ColumnType::MYSQL_TYPE_DATE {
                    // Writing to a String cannot fail.
                    let _ = write!(text, "T{hour:02}:{minute:02}:{second:02}");
                    if *micros > 0 {
                        let _ = write!(text, ".{micros:06}");
                        text.truncate(text.trim_end_matches('0').len());
                    }
                    if self.layout.timestamps.get(column).copied().unwrap_or_default() {
                        text.push('Z');
                    }
                }
                text
            }),
            // Statements cast all other types to text.
            Cell::Time(..) => ValueRef::Null,
        }
    }
}

/// Returns an exact number: as a number if a double holds it exactly, else as text with all digits.
fn exact(text: &[u8]) -> ValueRef<'_> {
    let short = without_zeros(text);
    let Ok(digits) = std::str::from_utf8(short) else { return ValueRef::Text(short) };
    // The type of the column determines the number of fraction digits, so that number says nothing about the value.
    if !short.contains(&b'.') {
        return digits.parse().map_or(ValueRef::Text(short), ValueRef::Integer);
    }
    if short.iter().filter(|byte| byte.is_ascii_digit()).count() <= EXACT_DIGITS
        && let Ok(value) = digits.parse::<f64>()
        && value.abs() >= EXACT_MIN
    {
        return ValueRef::Real(value);
    }
    ValueRef::Text(short)
}

/// Returns an exact number without zeros at the end of its fraction, which has as many digits as the type of the column.
fn without_zeros(number: &[u8]) -> &[u8] {
    if !number.contains(&b'.') {
        return number;
    }
    let end = number.iter().rposition(|digit| *digit != b'0').unwrap_or_default();
    let end = if number.get(end) == Some(&b'.') { end } else { end + 1 };
    number.get(..end).unwrap_or(number)
}

/// Returns whether a column has bytes. Numbers in text form have the same character set.
fn is_binary(column: &Column) -> bool {
    use ColumnType::{
        MYSQL_TYPE_BLOB, MYSQL_TYPE_LONG_BLOB, MYSQL_TYPE_MEDIUM_BLOB, MYSQL_TYPE_STRING,
        MYSQL_TYPE_TINY_BLOB, MYSQL_TYPE_VAR_STRING, MYSQL_TYPE_VARCHAR,
    };
    column.character_set() == BINARY
        && matches!(
            column.column_type(),
            MYSQL_TYPE_BLOB
                | MYSQL_TYPE_LONG_BLOB
                | MYSQL_TYPE_MEDIUM_BLOB
                | MYSQL_TYPE_STRING
                | MYSQL_TYPE_TINY_BLOB
                | MYSQL_TYPE_VAR_STRING
                | MYSQL_TYPE_VARCHAR
        )
}

/// Returns a cell as an owned value, in which a date may lack its month or day.
pub(super) fn value(row: &Row, index: usize) -> Value {
    let layout = Layout { columns: vec![Some(index)], ..Layout::default() };
    MySqlRow::new(row, &layout).sort_value(0).to_value()
}

/// Returns the text of a cell; empty for NULL.
pub(super) fn text(row: &Row, index: usize) -> String {
    optional_text(row, index).unwrap_or_default()
}

/// Returns the text of a cell; `None` for NULL.
pub(super) fn optional_text(row: &Row, index: usize) -> Option<String> {
    match row.as_ref(index)? {
        Cell::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Cell::Int(value) => Some(value.to_string()),
        Cell::UInt(value) => Some(value.to_string()),
        _ => None,
    }
}

fn is_null(row: &Row, index: usize) -> bool {
    matches!(row.as_ref(index), None | Some(Cell::NULL))
}

/// Returns the number in a cell, which may be stored as text.
pub(super) fn integer(row: &Row, index: usize) -> Option<i64> {
    match row.as_ref(index)? {
        Cell::Int(value) => Some(*value),
        Cell::UInt(value) => i64::try_from(*value).ok(),
        Cell::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_are_numbers_if_a_double_is_exact() {
        let shown = |text: &str| format!("{:?}", exact(text.as_bytes()).to_value());
        assert_eq!(shown("-10005"), "Integer(-10005)");
        assert_eq!(shown("1.50"), "Real(1.5)");
        assert_eq!(shown("2.00"), "Integer(2)");
        assert_eq!(shown("-0.00"), "Integer(0)");
        assert_eq!(shown("0.00000005"), "Text(\"0.00000005\")");
        assert_eq!(shown("123456789012345678.90"), "Text(\"123456789012345678.9\")");
        assert_eq!(shown("92233720368547758070"), "Text(\"92233720368547758070\")");
    }

    #[test]
    fn exact_numbers_have_no_trailing_zeros() {
        for (number, shown) in
            [("12.50", "12.5"), ("100", "100"), ("2.00", "2"), ("-0.10", "-0.1"), ("0.00", "0")]
        {
            assert_eq!(without_zeros(number.as_bytes()), shown.as_bytes());
        }
    }
}
