//! Cells: conversion of the driver's values to mesh-plan values.

use std::fmt::Write as _;

use mesh_backend::rows::{Converted, Decoder, decimal, double};
use mesh_plan::{Value, ValueRef};
use mysql_async::consts::ColumnType;
use mysql_async::{Column, Row, Value as Cell};

/// The number of the character set `binary`.
const BINARY: u16 = 63;

/// The conversion of the driver's values.
#[derive(Debug)]
pub(crate) struct DriverCells;

pub(crate) type LevelRows = mesh_backend::rows::LevelRows<DriverCells>;
pub(crate) use mesh_backend::rows::NodeRowSource;

impl Decoder for DriverCells {
    type Row = Row;

    fn count(row: &Row) -> usize {
        row.len()
    }

    fn is_null(row: &Row, index: usize) -> bool {
        matches!(row.as_ref(index), None | Some(Cell::NULL))
    }

    fn integer(row: &Row, index: usize) -> Option<i64> {
        integer(row, index)
    }

    /// The database allows dates without a month or a day, which are not valid dates.
    fn is_hidden(row: &Row, index: usize) -> bool {
        matches!(row.as_ref(index), Some(Cell::Date(_, 0, ..) | Cell::Date(_, _, 0, ..)))
    }

    fn value<'r>(row: &'r Row, index: usize, is_utc: bool, converted: Converted<'r>) -> ValueRef<'r> {
        let (Some(cell), Some(sent)) = (row.as_ref(index), row.columns_ref().get(index)) else {
            return ValueRef::Null;
        };
        match cell {
            Cell::NULL => ValueRef::Null,
            Cell::Int(value) => ValueRef::Integer(*value),
            Cell::UInt(value) => match i64::try_from(*value) {
                Ok(value) => ValueRef::Integer(value),
                Err(_) => converted.get_or(|| Value::Text(value.to_string())),
            },
            Cell::Float(value) => ValueRef::Real(double(*value)),
            Cell::Double(value) => ValueRef::Real(*value),
            Cell::Bytes(bytes) if is_binary(sent) => ValueRef::Bytes(bytes),
            Cell::Bytes(text) if sent.column_type() == ColumnType::MYSQL_TYPE_NEWDECIMAL => decimal(text),
            Cell::Bytes(text) => ValueRef::Text(text),
            Cell::Date(year, month, day, hour, minute, second, micros) => converted.get_or(|| {
                let mut text = format!("{year:04}-{month:02}-{day:02}");
                if sent.column_type() != ColumnType::MYSQL_TYPE_DATE {
                    // Writing to a String cannot fail.
                    let _ = write!(text, "T{hour:02}:{minute:02}:{second:02}");
                    if *micros > 0 {
                        let _ = write!(text, ".{micros:06}");
                        text.truncate(text.trim_end_matches('0').len());
                    }
                    if is_utc {
                        text.push('Z');
                    }
                }
                Value::Text(text)
            }),
            // Statements cast all other types to text.
            Cell::Time(..) => ValueRef::Null,
        }
    }
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

/// Returns the number in a cell, which may be stored as text.
pub(super) fn integer(row: &Row, index: usize) -> Option<i64> {
    match row.as_ref(index)? {
        Cell::Int(value) => Some(*value),
        Cell::UInt(value) => i64::try_from(*value).ok(),
        Cell::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}
