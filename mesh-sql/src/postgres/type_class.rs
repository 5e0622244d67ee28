//! Classes of storage types, which decide whether a column compares with a value in its type or as text.

use std::fmt;

use data_encoding::HEXLOWER;
use mesh_schema::{NativeKind, NativeType, Operators};
use sea_query::{Expr, Func};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::datetime;
use crate::class::{Class, Form};
use crate::custom::{cast, operator};
use mesh_plan::backend::{is_special_decimal, number_text};
use mesh_plan::{CompareOp, Value};

/// A class of storage types that can be compared with the same values.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeClass {
    Boolean,
    /// An integer type, with its name.
    Integer(&'static str),
    Real4,
    Real8,
    Numeric,
    /// A text type, with its name.
    Text(&'static str),
    /// An extension's type of case-insensitive text, with the schema of its operators and its name.
    CaseInsensitive(String, String),
    Uuid,
    Date,
    Timestamp,
    TimestampZone,
    Bytes,
    /// `json` or `jsonb`, with its name.
    Json(&'static str),
    Enum(NativeType),
    Composite,
    /// Any other type, with its name and its operators. Its values are compared with those of the query as text.
    Other(String, Operators),
    Unknown,
}

impl TypeClass {
    pub(super) fn new(native: Option<&NativeType>) -> Self {
        let Some(native) = native else { return Self::Unknown };
        match native.kind {
            NativeKind::Enum => return Self::Enum(native.clone()),
            NativeKind::Composite => return Self::Composite,
            NativeKind::Other => {
                return match (native.name.rsplit_once('.'), &native.operators) {
                    (Some((_, "citext" | "\"citext\"")), Operators::InSchema(schema)) => {
                        Self::CaseInsensitive(schema.clone(), native.name.clone())
                    }
                    _ => Self::Other(native.name.clone(), native.operators.clone()),
                };
            }
            NativeKind::BuiltIn => {}
        }
        match native.name.as_str() {
            "bool" => Self::Boolean,
            "int2" => Self::Integer("int2"),
            "int4" => Self::Integer("int4"),
            "int8" => Self::Integer("int8"),
            "float4" => Self::Real4,
            "float8" => Self::Real8,
            "numeric" => Self::Numeric,
            "text" | "varchar" | "name" => Self::Text("text"),
            "bpchar" => Self::Text("bpchar"),
            "uuid" => Self::Uuid,
            "date" => Self::Date,
            "timestamp" => Self::Timestamp,
            "timestamptz" => Self::TimestampZone,
            "bytea" => Self::Bytes,
            "json" => Self::Json("json"),
            "jsonb" => Self::Json("jsonb"),
            _ => Self::Other(native.name.clone(), native.operators.clone()),
        }
    }

    /// Returns the schema of the operators that compare values of this class, in the form of an SQL identifier; `None` if they
    /// are built in.
    pub(super) fn schema(&self) -> Option<&str> {
        match self {
            Self::CaseInsensitive(schema, _) | Self::Other(_, Operators::InSchema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// Returns whether a column of this class can be compared with a column of the other.
    pub(super) fn compares_with(&self, other: &Self) -> bool {
        use TypeClass::{CaseInsensitive, Integer, Numeric, Other, Real4, Real8, Text, Unknown};
        match (self, other) {
            (Unknown, _) | (_, Unknown) => true,
            (Integer(_) | Real4 | Real8 | Numeric, Integer(_) | Real4 | Real8 | Numeric) => true,
            (Text(_) | CaseInsensitive(..), Text(_) | CaseInsensitive(..)) => true,
            (Other(_, Operators::None), _) => false,
            _ => self == other,
        }
    }

    /// Returns the text from which the column's type reads the value, and the form to compare in. `None` if a column cannot
    /// contain such a value, so that only the texts can be compared.
    fn value(&self, value: &Value) -> Option<(String, Form)> {
        if !Self::is_storable(value) {
            return None;
        }
        match self {
            Self::Boolean => match value {
                Value::Boolean(value) => Some((value.to_string(), Form::Cast("bool"))),
                Value::Integer(value @ (0 | 1)) => Some(((*value == 1).to_string(), Form::Cast("bool"))),
                _ => None,
            },
            Self::Integer(_) => match value {
                Value::Boolean(value) => Some((i64::from(*value).to_string(), Form::Cast("int8"))),
                Value::Integer(value) => Some((value.to_string(), Form::Cast("int8"))),
                Value::Real(value) => Some(match whole(*value) {
                    Some(value) => (value.to_string(), Form::Cast("int8")),
                    None => (real(*value), Form::Cast("float8")),
                }),
                Value::Text(text) if is_canonical(text) => Some((text.clone(), Form::Cast("int8"))),
                Value::Text(text) => is_decimal(text).then(|| (text.clone(), Form::Cast("numeric"))),
                Value::Null | Value::InvalidText(_) | Value::Bytes(_) => None,
            },
            Self::Real4 => number(value).map(|number| {
                (real(number), if is_single(number) { Form::Cast("float4") } else { Form::Cast("float8") })
            }),
            Self::Real8 => number(value).map(|number| (real(number), Form::Cast("float8"))),
            Self::Numeric => match value {
                Value::Integer(value) => Some((value.to_string(), Form::Cast("numeric"))),
                Value::Real(value) => Some((real(*value), Form::Cast("numeric"))),
                Value::Text(text) if is_decimal(text) || is_special_decimal(text) => {
                    Some((text.clone(), Form::Cast("numeric")))
                }
                _ => None,
            },
            Self::Text(ty) => Some((value_text(value)?, Form::Cast(ty))),
            Self::CaseInsensitive(..) => Some((value_text(value)?, Form::Own)),
            Self::Uuid => match value {
                Value::Text(text) if text.len() == Hyphenated::LENGTH => {
                    Uuid::try_parse(text).ok().map(|_| (text.clone(), Form::Cast("uuid")))
                }
                _ => None,
            },
            Self::Date => match value {
                Value::Text(text) => match datetime::date(text) {
                    Some(date) => Some((date, Form::Cast("date"))),
                    None => datetime::time(text).map(|time| (time, Form::Cast("timestamp"))),
                },
                _ => None,
            },
            Self::Timestamp | Self::TimestampZone => match value {
                Value::Text(text) => datetime::time(text).map(|time| (time, self.bind_form())),
                _ => None,
            },
            Self::Bytes => match value {
                Value::Bytes(bytes) => Some((hex(bytes), Form::Cast("bytea"))),
                _ => None,
            },
            Self::Enum(native) => match value {
                Value::Text(text) if native.labels.contains(text) => Some((text.clone(), Form::Own)),
                _ => None,
            },
            Self::Unknown => Some((value_text(value)?, Form::Bound)),
            Self::Json(_) | Self::Composite | Self::Other(..) => None,
        }
    }

    /// Returns the text from which the database reads a value of a write; `None` for NULL. A text that the type cannot read, or
    /// that the database cannot store, is left as it is, and the database refuses it.
    pub(super) fn written(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Date | Self::Timestamp | Self::TimestampZone, Value::Text(text)) => {
                Some(self.value(value).map_or_else(|| text.clone(), |(text, _)| text))
            }
            (_, Value::Text(text)) => Some(text.clone()),
            (_, value) => value_text(value),
        }
    }

    /// Returns the type in which a value known only at run time is compared; empty if the database infers it.
    fn bind_type(&self) -> &'static str {
        match self {
            Self::Boolean => "bool",
            Self::Integer(_) => "int8",
            Self::Real4 => "float4",
            Self::Real8 => "float8",
            Self::Numeric => "numeric",
            Self::Text(ty) => ty,
            Self::Uuid => "uuid",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::TimestampZone => "timestamptz",
            // The database infers the type from the operator.
            Self::Unknown | Self::CaseInsensitive(..) => "",
            Self::Bytes | Self::Enum(_) | Self::Json(_) | Self::Composite | Self::Other(..) => "text",
        }
    }

    /// Returns the name of the type of a form; `None` if the database infers it.
    fn type_of(&self, form: Option<Form>) -> Option<&str> {
        match (form, self) {
            (None, _) => Some("text"),
            (Some(Form::Cast(ty)), _) => Some(ty),
            (Some(Form::Own), Self::CaseInsensitive(_, name)) => Some(name),
            (Some(Form::Own), Self::Enum(native)) => Some(&native.name),
            (Some(Form::Bound | Form::Own), _) => None,
        }
    }
}

impl Class for TypeClass {
    /// All parameters are bound as text, which the database reads as the types that the statement names.
    type Bound = Option<String>;

    fn bind_text(text: String) -> Option<String> {
        Some(text)
    }

    fn bind_integer(number: i64) -> Option<String> {
        Some(number.to_string())
    }

    fn bind_as_text(value: &Value) -> Option<String> {
        value_text(value)
    }

    fn read(&self, value: &Value) -> Option<(Option<String>, Form)> {
        self.value(value).map(|(text, form)| (Some(text), form))
    }

    fn bind_form(&self) -> Form {
        match self.bind_type() {
            "" => Form::Bound,
            ty => Form::Cast(ty),
        }
    }

    fn bind(&self, value: &Value) -> Option<String> {
        if !self.is_bindable() {
            return value_text(value);
        }
        let bind = self.bind_form();
        self.value(value).filter(|(_, form)| bind == Form::Bound || *form == bind).map(|(text, _)| text)
    }

    fn bind_returned(&self, value: &Value) -> Option<String> {
        self.written(value)
    }

    fn bind_list(values: impl Iterator<Item = Option<String>>) -> Option<String> {
        Some(array(values))
    }

    fn is_storable(value: &Value) -> bool {
        !matches!(value, Value::Text(text) if text.contains('\0'))
    }

    fn typed_text(param: Expr) -> Expr {
        cast(param, "text")
    }

    fn typed_integer(param: Expr) -> Expr {
        cast(param, "int8")
    }

    fn typed(&self, param: Expr, form: Option<Form>) -> Expr {
        match self.type_of(form) {
            Some(ty) => cast(param, ty),
            None => param,
        }
    }

    fn typed_list(&self, param: Expr, form: Option<Form>) -> Expr {
        match self.type_of(form) {
            Some(ty) => cast(param, &format!("{ty}[]")),
            None => param,
        }
    }

    fn show(text: &Option<String>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match text {
            Some(text) => write!(f, "{text:?}"),
            None => f.write_str("NULL"),
        }
    }

    fn has_order(&self) -> bool {
        !matches!(self, Self::Json(_) | Self::Composite | Self::Other(..))
    }

    fn is_bindable(&self) -> bool {
        !matches!(self, Self::Enum(_) | Self::Json(_) | Self::Composite | Self::Other(..) | Self::Bytes)
    }

    fn is_identity(&self) -> bool {
        // Equal texts need not be the same: a collation may ignore letter case.
        matches!(self, Self::Integer(_) | Self::Uuid)
    }

    fn shown(&self, expr: Expr) -> (Expr, &'static str) {
        match self {
            Self::Integer(name) | Self::Json(name) => (expr, name),
            Self::Bytes => (expr, "bytea"),
            Self::Composite => (cast(Func::cust("pg_catalog.to_json").arg(expr).into(), "text"), "text"),
            Self::Text("bpchar") => (expr, "bpchar"),
            Self::Text(_) | Self::CaseInsensitive(..) | Self::Enum(_) | Self::Other(..) | Self::Unknown => {
                (cast(expr, "text"), "text")
            }
            Self::Boolean | Self::Real4 | Self::Real8 | Self::Numeric | Self::Uuid => {
                (expr, self.bind_type())
            }
            Self::Date | Self::Timestamp | Self::TimestampZone => (expr, self.bind_type()),
        }
    }

    fn to_text(&self, expr: Expr) -> (Expr, Self) {
        (cast(expr, "text"), Self::Text("text"))
    }

    fn compare(&self, left: Expr, op: CompareOp, right: Expr) -> Expr {
        operator(left, op, self.schema(), right)
    }

    fn compares_in_rows(&self) -> bool {
        self.schema().is_none()
    }
}

/// Returns the text form of an array, in which `None` is NULL.
fn array(texts: impl Iterator<Item = Option<String>>) -> String {
    let quoted = texts.map(|text| {
        let Some(text) = text else { return "NULL".to_owned() };
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    });
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

/// Returns the value as the text that the database would write for it; `None` for NULL and for text that it cannot store.
pub(super) fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::InvalidText(_) => None,
        Value::Boolean(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Real(value) => Some(real(*value)),
        Value::Text(text) => (!text.contains('\0')).then(|| text.clone()),
        Value::Bytes(bytes) => Some(hex(bytes)),
    }
}

fn real(value: f64) -> String {
    if value.is_finite() {
        number_text(value)
    } else if value.is_nan() {
        "NaN".to_owned()
    } else if value > 0.0 {
        "Infinity".to_owned()
    } else {
        "-Infinity".to_owned()
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Real(value) => Some(*value),
        Value::Text(text) if is_decimal(text) => text.parse().ok(),
        _ => None,
    }
}

/// Returns whether the database reads the text of a number as a single. The text of the largest single is above its value.
fn is_single(number: f64) -> bool {
    let single = number as f32;
    !number.is_finite() || (single.is_finite() && (single != 0.0 || number == 0.0))
}

fn whole(value: f64) -> Option<i64> {
    let fits = value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(&value);
    fits.then_some(value as i64)
}

fn is_canonical(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|value| value.to_string() == text)
}

/// Returns whether a text is a number without an exponent.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(whole) && all_digits(fraction)
}

fn hex(bytes: &[u8]) -> String {
    format!("\\x{}", HEXLOWER.encode(bytes))
}
