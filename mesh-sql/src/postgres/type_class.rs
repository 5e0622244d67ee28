//! Classes of storage types, which decide whether a column compares with a value in its type or as text.

use std::borrow::Cow;

use mesh_schema::{NativeKind, NativeType, Operators};
use sea_query::{Expr, Func};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::datetime;
use crate::class::{self, Class, ParamType, canonical, is_decimal, number, whole};
use crate::custom::{cast, operator};
use mesh_plan::Value;
use mesh_plan::backend::is_special_decimal;
use mesh_plan::plan::CompareOp;

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
    /// An array or a composite type, with its name.
    Composite(String),
    /// Any other type, with its name and its operators. Its values are compared with those of the query as text.
    Other(String, Operators),
    Unknown,
}

impl TypeClass {
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

    /// Returns the type in which a value known only at run time is compared; empty if the database infers it.
    pub(super) fn bind_type_name(&self) -> &'static str {
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
            Self::Bytes | Self::Enum(_) | Self::Json(_) | Self::Composite(_) | Self::Other(..) => "text",
        }
    }

    /// Returns the name of a type; `None` if the database infers it.
    fn type_of(&self, ty: Option<ParamType>) -> Option<&str> {
        match (ty, self) {
            (None, _) => Some("text"),
            (Some(ParamType::Named(ty)), _) => Some(ty),
            (Some(ParamType::OfColumn), Self::CaseInsensitive(_, name)) => Some(name),
            (Some(ParamType::OfColumn), Self::Enum(native)) => Some(&native.name),
            (Some(ParamType::Inferred | ParamType::OfColumn), _) => None,
        }
    }
}

impl Class for TypeClass {
    const INTEGER: ParamType = ParamType::Named("int8");
    const UNKNOWN: Option<&'static str> = Some("bool");

    fn of(native: Option<&NativeType>) -> Self {
        let Some(native) = native else { return Self::Unknown };
        match native.kind {
            NativeKind::Enum => return Self::Enum(native.clone()),
            NativeKind::Composite => return Self::Composite(native.name.clone()),
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

    fn of_relevance() -> Self {
        Self::Real8
    }

    fn read<'v>(&self, value: &'v Value) -> Option<(Cow<'v, Value>, ParamType)> {
        let same = |ty| Some((Cow::Borrowed(value), ParamType::Named(ty)));
        let new = |value: Value, ty| Some((Cow::Owned(value), ParamType::Named(ty)));
        let as_text = |ty| Some((Self::bind_as_text(value), ty)).filter(|(text, _)| **text != Value::Null);
        match (self, value) {
            (_, value) if !Self::is_storable(value) => None,
            (Self::Boolean, Value::Boolean(_)) => same("bool"),
            (Self::Boolean, Value::Integer(number @ (0 | 1))) => new((*number == 1).into(), "bool"),
            (Self::Integer(_), Value::Boolean(value)) => new(i64::from(*value).into(), "int8"),
            (Self::Integer(_), Value::Integer(_)) => same("int8"),
            (Self::Integer(_), Value::Real(real)) => match whole(*real) {
                Some(whole) => new(whole.into(), "int8"),
                None => same("float8"),
            },
            (Self::Integer(_), Value::Text(text)) if canonical(text).is_some() => same("int8"),
            (Self::Integer(_) | Self::Numeric, Value::Text(text)) if is_decimal(text) => same("numeric"),
            (Self::Real4, value) => {
                let number = number(value)?;
                new(number.into(), if is_single(number) { "float4" } else { "float8" })
            }
            (Self::Real8, value) => new(number(value)?.into(), "float8"),
            (Self::Numeric, Value::Integer(_) | Value::Real(_)) => same("numeric"),
            (Self::Numeric, Value::Text(text)) if is_special_decimal(text) => same("numeric"),
            (Self::Text(ty), _) => as_text(ParamType::Named(ty)),
            (Self::CaseInsensitive(..), _) => as_text(ParamType::OfColumn),
            (Self::Unknown, _) => as_text(ParamType::Inferred),
            (Self::Uuid, Value::Text(text)) if text.len() == Hyphenated::LENGTH => {
                Uuid::try_parse(text).ok().and_then(|_| same("uuid"))
            }
            (Self::Date, Value::Text(text)) => match datetime::date(text) {
                Some(date) => new(date.into(), "date"),
                None => new(datetime::time(text)?.into(), "timestamp"),
            },
            (Self::Timestamp | Self::TimestampZone, Value::Text(text)) => {
                new(datetime::time(text)?.into(), self.bind_type_name())
            }
            (Self::Bytes, Value::Bytes(_)) => same("bytea"),
            (Self::Enum(native), Value::Text(text)) if native.labels.contains(text) => {
                as_text(ParamType::OfColumn)
            }
            _ => None,
        }
    }

    fn written(&self, value: &Value) -> Value {
        match self {
            Self::Date | Self::Timestamp | Self::TimestampZone => {
                self.read(value).map_or_else(|| value.clone(), |(value, _)| value.into_owned())
            }
            _ => value.clone(),
        }
    }

    fn bind_type(&self) -> ParamType {
        match self.bind_type_name() {
            "" => ParamType::Inferred,
            ty => ParamType::Named(ty),
        }
    }

    fn binds(&self, _value: &Value, ty: ParamType) -> bool {
        let bind_type = self.bind_type();
        bind_type == ParamType::Inferred || bind_type == ty
    }

    fn list<'v>(values: impl Iterator<Item = Cow<'v, Value>>) -> Value {
        array(values.map(|value| value_text(&value))).into()
    }

    fn is_storable(value: &Value) -> bool {
        !matches!(value, Value::Text(text) if text.contains('\0'))
    }

    fn typed(&self, param: Expr, ty: Option<ParamType>) -> Expr {
        match self.type_of(ty) {
            Some(ty) => cast(param, ty),
            None => param,
        }
    }

    fn typed_list(&self, param: Expr, ty: Option<ParamType>) -> Expr {
        match self.type_of(ty) {
            Some(ty) => cast(param, &format!("{ty}[]")),
            None => param,
        }
    }

    fn has_order(&self) -> bool {
        !matches!(self, Self::Json(_) | Self::Composite(_) | Self::Other(..))
    }

    fn is_bindable(&self) -> bool {
        !matches!(self, Self::Enum(_) | Self::Json(_) | Self::Composite(_) | Self::Other(..) | Self::Bytes)
    }

    fn is_identity(&self) -> bool {
        // Equal texts need not be the same: a collation may ignore letter case.
        matches!(self, Self::Integer(_) | Self::Uuid)
    }

    fn shown(&self, expr: Expr) -> (Expr, &'static str) {
        match self {
            Self::Integer(name) | Self::Json(name) => (expr, name),
            Self::Bytes => (expr, "bytea"),
            Self::Composite(_) => (cast(Func::cust("pg_catalog.to_json").arg(expr).into(), "text"), "text"),
            Self::Text("bpchar") => (expr, "bpchar"),
            Self::Text(_) | Self::CaseInsensitive(..) | Self::Enum(_) | Self::Other(..) | Self::Unknown => {
                (cast(expr, "text"), "text")
            }
            Self::Boolean | Self::Real4 | Self::Real8 | Self::Numeric | Self::Uuid => {
                (expr, self.bind_type_name())
            }
            Self::Date | Self::Timestamp | Self::TimestampZone => (expr, self.bind_type_name()),
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
pub fn array(texts: impl Iterator<Item = Option<String>>) -> String {
    let quoted = texts.map(|text| {
        let Some(text) = text else { return "NULL".to_owned() };
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    });
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

/// Returns the value as the text that the database would write for it; `None` for NULL and for text that it cannot store.
pub(super) fn value_text(value: &Value) -> Option<String> {
    class::value_text(value).filter(|_| TypeClass::is_storable(value))
}

/// Returns whether the database reads the text of a number as a single. The text of the largest single is above its value.
fn is_single(number: f64) -> bool {
    let single = number as f32;
    !number.is_finite() || (single.is_finite() && (single != 0.0 || number == 0.0))
}
