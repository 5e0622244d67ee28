//! Classes of storage types, which decide whether a column compares with a value in its type or as text.

use std::borrow::Cow;

use mesh_schema::{NativeKind, NativeType, TimeForm};
use sea_query::{Expr, Func};
use uuid::Uuid;

use crate::class::{Class, ParamType, canonical, is_decimal, number, value_text, whole};
use crate::custom::{self, cast};
use crate::predicate;
use mesh_plan::Value;
use mesh_plan::backend::{Time, is_date, number_text};
use mesh_plan::plan::CompareOp;

/// The separator between the name of a text type and the name of its collation.
const COLLATE: &str = " COLLATE ";

/// A class of storage types that can be compared with the same values.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeClass {
    /// `tinyint(1)`.
    Boolean,
    Integer,
    Unsigned,
    /// `bigint unsigned`, whose values need not fit [`Value::Integer`].
    BigUnsigned,
    /// `bit`, which is a number in comparisons and bytes in results.
    Bit,
    Single,
    Double,
    Decimal,
    /// A text type, with its collation if that is known.
    Text(Option<String>),
    Date,
    Datetime,
    /// A time with a zone, which the database converts from and to UTC.
    Timestamp,
    Bytes,
    Json,
    /// The text of a number in a JSON document, which is compared as an exact number or as a double.
    JsonNumber,
    Uuid,
    /// A type whose values are ordered by their declaration, not by their texts.
    Enum,
    Other,
    Unknown,
}

/// The type of numbers that do not fit [`Value::Integer`].
const UNSIGNED: ParamType = ParamType::Named("UNSIGNED");
/// The type in which exact numbers are compared.
const DECIMAL: ParamType = ParamType::Named("DECIMAL(65, 30)");
/// The number of digits before the decimal point of [`DECIMAL`].
const DECIMAL_DIGITS: usize = 35;
/// The number of digits after the decimal point of [`DECIMAL`].
const DECIMAL_SCALE: usize = 30;

impl TypeClass {
    /// Returns whether values are dates, which may lack their month or day. Responses show such dates as `null`.
    pub(super) fn is_date(&self) -> bool {
        matches!(self, Self::Date | Self::Datetime | Self::Timestamp)
    }

    fn is_number(&self) -> bool {
        use TypeClass::{BigUnsigned, Bit, Boolean, Decimal, Double, Integer, Single, Unsigned};
        matches!(self, Boolean | Integer | Unsigned | BigUnsigned | Bit | Single | Double | Decimal)
    }

    /// Returns whether a column of this class can be compared with a column of the other.
    pub(super) fn compares_with(&self, other: &Self) -> bool {
        use TypeClass::{Date, Datetime, Text, Timestamp, Unknown};
        match (self, other) {
            (Unknown, _) | (_, Unknown) => true,
            (Text(_), Text(_)) => true,
            (Date | Datetime | Timestamp, Date | Datetime | Timestamp) => true,
            _ if self.is_number() => other.is_number(),
            _ => self == other && self.has_order(),
        }
    }

    /// Returns the type as which the database reads the values of a session's list from JSON.
    pub(super) fn list_type(&self) -> &'static str {
        match self {
            Self::Boolean | Self::Integer => "BIGINT",
            Self::Unsigned | Self::BigUnsigned | Self::Bit => "BIGINT UNSIGNED",
            Self::Single => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Decimal => "DECIMAL(65, 30)",
            Self::Date => "DATE",
            Self::Datetime | Self::Timestamp => "DATETIME(6)",
            _ => "LONGTEXT CHARACTER SET utf8mb4",
        }
    }
}

impl Class for TypeClass {
    fn of(native: Option<&NativeType>) -> Self {
        let Some(native) = native else { return Self::Unknown };
        match native.kind {
            NativeKind::Enum => return Self::Enum,
            NativeKind::Composite | NativeKind::Other => return Self::Other,
            NativeKind::BuiltIn => {}
        }
        if let Some((_, collation)) = native.name.split_once(COLLATE) {
            return Self::Text(Some(collation.to_owned()));
        }
        match native.name.as_str() {
            "boolean" => Self::Boolean,
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => Self::Integer,
            "year" => Self::Unsigned,
            "bigint unsigned" => Self::BigUnsigned,
            name if name.ends_with(" unsigned") => Self::Unsigned,
            "bit" => Self::Bit,
            "float" => Self::Single,
            "double" => Self::Double,
            "decimal" => Self::Decimal,
            "text" => Self::Text(None),
            "date" => Self::Date,
            "datetime" => Self::Datetime,
            "timestamp" => Self::Timestamp,
            "binary" => Self::Bytes,
            "json" => Self::Json,
            "uuid" => Self::Uuid,
            _ => Self::Other,
        }
    }

    fn of_relevance() -> Self {
        Self::Integer
    }

    fn read<'v>(&self, value: &'v Value) -> Option<(Cow<'v, Value>, ParamType)> {
        let same = |ty| Some((Cow::Borrowed(value), ty));
        let new = |value: Value, ty| Some((Cow::Owned(value), ty));
        let is_integer = matches!(self, Self::Integer | Self::Unsigned | Self::BigUnsigned | Self::Bit);
        match (self, value) {
            (Self::Boolean, Value::Boolean(value)) => new(i64::from(*value).into(), ParamType::Inferred),
            (Self::Boolean, Value::Integer(_)) => same(ParamType::Inferred),
            (_, Value::Boolean(value)) if is_integer => new(i64::from(*value).into(), ParamType::Inferred),
            (_, Value::Integer(_)) if is_integer => same(ParamType::Inferred),
            (_, Value::Real(real)) if is_integer => match whole(*real) {
                Some(whole) => new(whole.into(), ParamType::Inferred),
                None => same(ParamType::Inferred),
            },
            (_, Value::Text(text)) if is_integer => match canonical(text) {
                Some(number) => new(number.into(), ParamType::Inferred),
                None if text.parse::<u64>().is_ok() => same(UNSIGNED),
                None if fits_decimal(text) => same(DECIMAL),
                None => None,
            },
            (Self::Single, value) => {
                let number = double(value)?;
                match single(number) {
                    Some(single) => new(single.into(), ParamType::Named("FLOAT")),
                    None => new(number.into(), ParamType::Inferred),
                }
            }
            (Self::JsonNumber, Value::Integer(_)) => same(DECIMAL),
            (Self::Double | Self::JsonNumber, value) => new(double(value)?.into(), ParamType::Inferred),
            (Self::Decimal, Value::Integer(_)) => same(ParamType::Inferred),
            (Self::Decimal, Value::Real(real)) => match number_text(*real) {
                text if fits_decimal(&text) => new(text.into(), DECIMAL),
                _ => same(ParamType::Inferred),
            },
            (Self::Decimal, Value::Text(text)) if fits_decimal(text) => same(DECIMAL),
            (Self::Text(_), Value::Text(_)) => same(ParamType::Inferred),
            (Self::Text(_), value) => new(value_text(value)?.into(), ParamType::Inferred),
            (Self::Uuid, Value::Text(text)) if Uuid::try_parse(text).is_ok() => same(ParamType::Inferred),
            (Self::Date, Value::Text(text)) if is_date(text) || incomplete_date(text) == Some("") => {
                same(ParamType::Named("DATE"))
            }
            (Self::Date | Self::Datetime | Self::Timestamp, Value::Text(text)) => {
                new(datetime(text)?, ParamType::Named("DATETIME(6)"))
            }
            (Self::Bytes, Value::Bytes(_)) => same(ParamType::Named("BINARY")),
            (Self::Unknown, value) if *value != Value::Null => same(ParamType::Inferred),
            _ => None,
        }
    }

    fn bind_type(&self) -> ParamType {
        match self {
            Self::BigUnsigned | Self::Bit => UNSIGNED,
            Self::Single => ParamType::Named("FLOAT"),
            Self::Bytes => ParamType::Named("BINARY"),
            Self::Decimal => DECIMAL,
            Self::Date => ParamType::Named("DATE"),
            Self::Datetime | Self::Timestamp => ParamType::Named("DATETIME(6)"),
            _ => ParamType::Inferred,
        }
    }

    fn binds(&self, value: &Value, ty: ParamType) -> bool {
        match (self.bind_type(), value) {
            (bind_type, _) if bind_type == ty => true,
            (DECIMAL, Value::Integer(_)) | (UNSIGNED, Value::Integer(0..)) => ty == ParamType::Inferred,
            _ => false,
        }
    }

    fn written(&self, value: &Value) -> Value {
        match (self, value) {
            // The database refuses a text that is not a time.
            (Self::Datetime | Self::Timestamp, Value::Text(text)) => {
                datetime(text).unwrap_or_else(|| value.clone())
            }
            // A number that the column would round to the largest one would be out of range.
            (Self::Single, Value::Real(number)) => single(*number).unwrap_or(*number).into(),
            // The text is the same as in other databases.
            (Self::Text(_) | Self::Json, value) => value_text(value).map_or(Value::Null, Value::Text),
            _ => value.clone(),
        }
    }

    fn list<'v>(values: impl Iterator<Item = Cow<'v, Value>>) -> Value {
        let values = values.map(|value| match &*value {
            Value::Boolean(value) => i64::from(*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Real(value) => (*value).into(),
            Value::Text(text) => text.as_str().into(),
            Value::Null | Value::InvalidText(_) | Value::Bytes(_) => serde_json::Value::Null,
        });
        serde_json::Value::Array(values.collect()).to_string().into()
    }

    fn typed(&self, param: Expr, ty: Option<ParamType>) -> Expr {
        match ty {
            Some(ParamType::Named(ty)) => cast(param, ty),
            Some(ParamType::Inferred | ParamType::OfColumn) | None => param,
        }
    }

    fn in_type(&self, expr: Expr, ty: ParamType) -> Expr {
        match (self, ty) {
            (Self::JsonNumber, ParamType::Named(ty)) => cast(expr, ty),
            (Self::JsonNumber, ParamType::Inferred) => cast(expr, "DOUBLE"),
            _ => expr,
        }
    }

    fn has_order(&self) -> bool {
        !matches!(self, Self::Json | Self::Enum | Self::Other)
    }

    fn is_bindable(&self) -> bool {
        self.has_order()
    }

    fn is_identity(&self) -> bool {
        matches!(self, Self::Integer | Self::Unsigned | Self::BigUnsigned)
    }

    fn is_utc(&self) -> bool {
        *self == Self::Timestamp
    }

    fn shown(&self, expr: Expr) -> (Expr, &'static str) {
        match self {
            Self::Boolean | Self::Integer => (expr, "SIGNED"),
            Self::Unsigned | Self::BigUnsigned => (expr, "UNSIGNED"),
            Self::Bit => (cast(expr, "UNSIGNED"), "UNSIGNED"),
            Self::Single => (expr, "FLOAT"),
            Self::Double => (expr, "DOUBLE"),
            Self::Bytes => (expr, "BINARY"),
            Self::Date => (expr, "DATE"),
            Self::Datetime => (expr, "DATETIME(6)"),
            Self::Timestamp => (cast(expr, "DATETIME(6)"), "DATETIME(6)"),
            // In a union, the column has the digits of the other rows.
            Self::Decimal => (expr, "DECIMAL(1, 0)"),
            Self::Uuid | Self::Json | Self::JsonNumber | Self::Enum | Self::Other | Self::Unknown => {
                (cast(expr, "CHAR"), "CHAR")
            }
            // The collations of the columns of a union have to agree.
            Self::Text(_) => (cast(expr, "CHAR"), "CHAR"),
        }
    }

    fn to_text(&self, expr: Expr) -> (Expr, Self) {
        let text = match self {
            Self::Boolean => custom::boolean_text(expr),
            Self::Bytes => custom::hex_text(expr),
            _ => cast(expr, "CHAR"),
        };
        (text, Self::Text(None))
    }

    fn compare(&self, left: Expr, op: CompareOp, right: Expr) -> Expr {
        predicate::compare(left, op, right)
    }

    fn or_null(&self, expr: Expr) -> Expr {
        // The database would find dates without a month and a day by `IS NULL`, too, if the column cannot hold NULL.
        if self.is_date() { self.to_text(expr).0 } else { expr }
    }

    fn complete(&self, expr: Expr) -> Expr {
        if self.is_date() { custom::complete_date(expr) } else { expr }
    }
}

/// Converts a time to UTC, in the format that the database reads; `None` if the database has no such time.
pub(super) fn datetime(text: &str) -> Option<Value> {
    if incomplete_date(text).is_some() {
        // Such a time is never one with an offset.
        return Some(text.trim_end_matches('Z').into());
    }
    let form = TimeForm::Text { separator: ' ', fraction: 0, zulu: false };
    let stored = Time::parse(text)?.stored(Some(form));
    // A conversion to UTC can lead out of the years that the database has.
    let has_year = matches!(&stored, Value::Text(text) if !text.starts_with('-'));
    has_year.then_some(stored)
}

/// Returns what follows a date that has no month or no day, such as `0000-00-00`; `None` if the text does not begin with one.
/// The database can store such dates, and cursors have them.
fn incomplete_date(text: &str) -> Option<&str> {
    const DIGITS: &[usize] = &[0, 1, 2, 3, 5, 6, 8, 9];
    let (date, rest) = text.split_at_checked(10)?;
    let is_digit = |index: &usize| date.as_bytes().get(*index).is_some_and(u8::is_ascii_digit);
    let has_dashes = date.get(4..5) == Some("-") && date.get(7..8) == Some("-");
    let lacks_part = date.get(5..7) == Some("00") || date.get(8..) == Some("00");
    (has_dashes && lacks_part && DIGITS.iter().all(is_digit)).then_some(rest)
}

/// Returns the double with the value of the nearest single; `None` if that is not finite.
pub(super) fn single(number: f64) -> Option<f64> {
    let single = number as f32;
    single.is_finite().then(|| single.into())
}

/// Returns a value as a double that the database can store.
fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Boolean(value) => Some((*value).into()),
        value => number(value).filter(|number| number.is_finite()),
    }
}

/// Returns whether a text is an exact number that has not too many digits.
fn fits_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    is_decimal(text) && whole.len() <= DECIMAL_DIGITS && fraction.len() <= DECIMAL_SCALE
}

/// Returns a collation's character set.
pub(super) fn charset(collation: &str) -> &str {
    collation.split('_').next().unwrap_or(collation)
}

/// Calls a function of one argument.
pub(super) fn call(function: &'static str, argument: Expr) -> Expr {
    Func::cust(function).arg(argument).into()
}
