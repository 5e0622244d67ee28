//! Classes of storage types, which decide whether a column compares with a value in its type or as text.

use std::fmt;

use data_encoding::HEXLOWER;
use mesh_schema::{NativeKind, NativeType, TimeForm};
use sea_query::{Expr, Func};
use uuid::Uuid;

use crate::class::{Class, Form};
use crate::custom::{self, cast};
use crate::param::show_value;
use crate::predicate;
use mesh_plan::backend::{Time, is_date, number_text};
use mesh_plan::{CompareOp, Value};

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

/// The form of numbers that do not fit [`Value::Integer`].
const UNSIGNED: Form = Form::Cast("UNSIGNED");
/// The type in which exact numbers are compared.
const DECIMAL: Form = Form::Cast("DECIMAL(65, 30)");
/// The number of digits before the decimal point of [`DECIMAL`].
const DECIMAL_DIGITS: usize = 35;
/// The number of digits after the decimal point of [`DECIMAL`].
const DECIMAL_SCALE: usize = 30;

impl TypeClass {
    pub(super) fn new(native: Option<&NativeType>) -> Self {
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
    type Bound = Value;

    fn bind_text(text: String) -> Value {
        Value::Text(text)
    }

    fn bind_integer(number: i64) -> Value {
        Value::Integer(number)
    }

    fn bind_as_text(value: &Value) -> Value {
        value_text(value).map_or(Value::Null, Value::Text)
    }

    fn read(&self, value: &Value) -> Option<(Value, Form)> {
        let bound = |value: Value| Some((value, Form::Bound));
        match self {
            Self::Boolean => match value {
                Value::Boolean(value) => bound(Value::Integer((*value).into())),
                Value::Integer(_) => bound(value.clone()),
                _ => None,
            },
            Self::Integer | Self::Unsigned | Self::BigUnsigned | Self::Bit => match value {
                Value::Boolean(value) => bound(Value::Integer((*value).into())),
                Value::Integer(_) => bound(value.clone()),
                Value::Real(value) => bound(whole(*value).map_or(Value::Real(*value), Value::Integer)),
                Value::Text(text) => match canonical(text) {
                    Some(value) => bound(Value::Integer(value)),
                    None if text.parse::<u64>().is_ok() => Some((value.clone(), UNSIGNED)),
                    None => decimal(text),
                },
                Value::Null | Value::InvalidText(_) | Value::Bytes(_) => None,
            },
            Self::Single => number(value).map(|number| match single(number) {
                Some(single) => (Value::Real(single), Form::Cast("FLOAT")),
                None => (Value::Real(number), Form::Bound),
            }),
            Self::Double => bound(Value::Real(number(value)?)),
            Self::Decimal => match value {
                Value::Integer(_) => bound(value.clone()),
                Value::Real(value) => decimal(&number_text(*value)).or_else(|| bound(Value::Real(*value))),
                Value::Text(text) => decimal(text),
                _ => None,
            },
            Self::Text(_) => bound(Value::Text(value_text(value)?)),
            Self::Uuid => match value {
                Value::Text(text) => Uuid::try_parse(text).ok().and_then(|_| bound(value.clone())),
                _ => None,
            },
            Self::Date => match value {
                Value::Text(text) if is_date(text) || incomplete_date(text) == Some("") => {
                    Some((value.clone(), Form::Cast("DATE")))
                }
                Value::Text(text) => datetime(text),
                _ => None,
            },
            Self::Datetime | Self::Timestamp => match value {
                Value::Text(text) => datetime(text),
                _ => None,
            },
            Self::Bytes => match value {
                Value::Bytes(_) => Some((value.clone(), Form::Cast("BINARY"))),
                _ => None,
            },
            Self::Unknown => match value {
                Value::Null => None,
                value => bound(value.clone()),
            },
            Self::JsonNumber => match value {
                Value::Integer(_) => Some((value.clone(), DECIMAL)),
                value => bound(Value::Real(number(value)?)),
            },
            Self::Json | Self::Enum | Self::Other => None,
        }
    }

    fn bind_form(&self) -> Form {
        match self {
            Self::BigUnsigned | Self::Bit => UNSIGNED,
            Self::Single => Form::Cast("FLOAT"),
            Self::Bytes => Form::Cast("BINARY"),
            Self::Decimal => DECIMAL,
            Self::Date => Form::Cast("DATE"),
            Self::Datetime | Self::Timestamp => Form::Cast("DATETIME(6)"),
            _ => Form::Bound,
        }
    }

    fn bind(&self, value: &Value) -> Value {
        if !self.is_bindable() {
            return Self::bind_as_text(value);
        }
        match self.read(value) {
            Some((value @ Value::Integer(_), Form::Bound)) if self.bind_form() == DECIMAL => value,
            Some((Value::Integer(value @ 0..), Form::Bound)) if self.bind_form() == UNSIGNED => value.into(),
            Some((value, form)) if form == self.bind_form() => value,
            _ => Value::Null,
        }
    }

    fn bind_returned(&self, value: &Value) -> Value {
        self.bind(value)
    }

    fn bind_list(values: impl Iterator<Item = Value>) -> Value {
        let values = values.map(|value| match value {
            Value::Boolean(value) => i64::from(value).into(),
            Value::Integer(value) => value.into(),
            Value::Real(value) => value.into(),
            Value::Text(text) => text.into(),
            Value::Null | Value::InvalidText(_) | Value::Bytes(_) => serde_json::Value::Null,
        });
        serde_json::Value::Array(values.collect()).to_string().into()
    }

    fn typed_text(param: Expr) -> Expr {
        param
    }

    fn typed_integer(param: Expr) -> Expr {
        param
    }

    fn typed(&self, param: Expr, form: Option<Form>) -> Expr {
        match form {
            Some(Form::Cast(ty)) => cast(param, ty),
            Some(Form::Bound | Form::Own) | None => param,
        }
    }

    fn typed_list(&self, param: Expr, _form: Option<Form>) -> Expr {
        param
    }

    fn show(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_value(value, f)
    }

    fn has_order(&self) -> bool {
        !matches!(self, Self::Json | Self::Enum | Self::Other)
    }

    fn is_bindable(&self) -> bool {
        !matches!(self, Self::Json | Self::Enum | Self::Other)
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
}

/// Returns the value as the text that the database would write for it; `None` for NULL.
pub(super) fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::InvalidText(_) => None,
        Value::Boolean(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Real(value) => Some(number_text(*value)),
        Value::Text(text) => Some(text.clone()),
        Value::Bytes(bytes) => Some(format!("\\x{}", HEXLOWER.encode(bytes))),
    }
}

/// Converts a time to UTC, in the format that the database reads; `None` if the database has no such time.
pub(super) fn datetime(text: &str) -> Option<(Value, Form)> {
    const FORM: Form = Form::Cast("DATETIME(6)");
    if incomplete_date(text).is_some() {
        // Such a time is never one with an offset.
        return Some((text.trim_end_matches('Z').into(), FORM));
    }
    let form = TimeForm::Text { separator: ' ', fraction: 0, zulu: false };
    let stored = Time::parse(text)?.stored(Some(form));
    // A conversion to UTC can lead out of the years that the database has.
    let has_year = matches!(&stored, Value::Text(text) if !text.starts_with('-'));
    has_year.then_some((stored, FORM))
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

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Boolean(value) => Some((*value).into()),
        Value::Integer(value) => Some(*value as f64),
        Value::Real(value) => Some(*value).filter(|value| value.is_finite()),
        Value::Text(text) if is_decimal(text) => text.parse().ok(),
        _ => None,
    }
}

fn whole(value: f64) -> Option<i64> {
    let fits = value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(&value);
    fits.then_some(value as i64)
}

fn canonical(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|value| value.to_string() == text)
}

/// Returns a text as an exact number; `None` if it is not a number, or has too many digits.
fn decimal(text: &str) -> Option<(Value, Form)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fits = is_decimal(text) && whole.len() <= DECIMAL_DIGITS && fraction.len() <= DECIMAL_SCALE;
    fits.then(|| (Value::Text(text.to_owned()), DECIMAL))
}

/// Returns whether a text is a number without an exponent.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(whole) && all_digits(fraction)
}

/// Returns a collation's character set.
pub(super) fn charset(collation: &str) -> &str {
    collation.split('_').next().unwrap_or(collation)
}

/// Calls a function of one argument.
pub(super) fn call(function: &'static str, argument: Expr) -> Expr {
    Func::cust(function).arg(argument).into()
}
