//! Cells: conversion of PostgreSQL's binary values to mesh-plan values.

mod numeric;
mod time;

use mesh_backend::rows::{Converted, Decoder, double};
use mesh_plan::{Value, ValueRef};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

/// The conversion of PostgreSQL's binary values.
#[derive(Debug)]
pub(crate) struct BinaryCells;

pub(crate) type LevelRows = mesh_backend::rows::LevelRows<BinaryCells>;
pub(crate) use mesh_backend::rows::NodeRowSource;

impl Decoder for BinaryCells {
    type Row = Row;

    fn count(row: &Row) -> usize {
        row.len()
    }

    fn is_null(row: &Row, index: usize) -> bool {
        raw(row, index).is_none()
    }

    fn integer(row: &Row, index: usize) -> Option<i64> {
        integer(row, index)
    }

    fn value<'r>(row: &'r Row, index: usize, _: bool, converted: Converted<'r>) -> ValueRef<'r> {
        let (Some(bytes), Some(sent)) = (raw(row, index), row.columns().get(index)) else {
            return ValueRef::Null;
        };
        // The database sends no value that cannot be converted.
        let text = |text: Option<String>| Value::Text(text.unwrap_or_default());
        match *sent.type_() {
            Type::INT2 | Type::INT4 | Type::INT8 => {
                be_integer(bytes).map_or(ValueRef::Null, ValueRef::Integer)
            }
            Type::BOOL => ValueRef::Boolean(bytes.first().is_some_and(|byte| *byte != 0)),
            Type::FLOAT8 => {
                bytes.try_into().map_or(ValueRef::Null, |it| ValueRef::Real(f64::from_be_bytes(it)))
            }
            Type::FLOAT4 => {
                bytes.try_into().map_or(ValueRef::Null, |it| ValueRef::Real(double(f32::from_be_bytes(it))))
            }
            Type::JSONB => ValueRef::Text(bytes.get(1..).unwrap_or_default()),
            Type::BYTEA => ValueRef::Bytes(bytes),
            Type::NUMERIC => converted.get_or(|| numeric::read(bytes).unwrap_or_default()),
            Type::UUID => converted
                .get_or(|| text(Uuid::from_slice(bytes).ok().map(|uuid| uuid.hyphenated().to_string()))),
            Type::DATE => converted.get_or(|| text(time::date(bytes))),
            Type::TIMESTAMP => converted.get_or(|| text(time::timestamp(bytes, false))),
            Type::TIMESTAMPTZ => converted.get_or(|| text(time::timestamp(bytes, true))),
            // Statements cast all other types to text.
            _ => ValueRef::Text(bytes),
        }
    }
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
