//! Classes of storage types: how the values of a column are compared, bound and shown.

use std::borrow::Cow;
use std::fmt;

use data_encoding::HEXLOWER;
use mesh_plan::Value;
use mesh_plan::backend::number_text;
use mesh_plan::plan::CompareOp;
use mesh_schema::NativeType;
use sea_query::Expr;

/// The type in which a parameter is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// The one that the database infers.
    Inferred,
    /// The one with this name, to which the value is cast.
    Named(&'static str),
    /// That of the column, to which the value is cast by its name.
    OfColumn,
}

/// A class of storage types that can be compared with the same values.
pub trait Class: Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The type of the numbers of rows.
    const INTEGER: ParamType = ParamType::Inferred;

    /// The type to which the result of a comparison with NULL is cast, if the database cannot infer it.
    const UNKNOWN: Option<&'static str> = None;

    /// Returns the class of a column's type. Without a type it is unknown.
    fn of(native: Option<&NativeType>) -> Self;

    /// Returns the class of a column that is compared as a key.
    fn of_key(native: Option<&NativeType>) -> Self {
        Self::of(native)
    }

    /// Returns the class of the relevance of a record.
    fn of_relevance() -> Self;

    /// Returns the value to bind for a comparison with a column of this class, and the type of the comparison. `None` if a
    /// column cannot contain such a value, so that only the texts can be compared.
    fn read<'v>(&self, value: &'v Value) -> Option<(Cow<'v, Value>, ParamType)>;

    /// Returns the type in which a value known only at run time is compared.
    fn bind_type(&self) -> ParamType {
        ParamType::Inferred
    }

    /// Returns whether a value that compares in a type can be bound in [`Self::bind_type`].
    fn binds(&self, _value: &Value, ty: ParamType) -> bool {
        ty == self.bind_type()
    }

    /// Returns the value to bind for a comparison in [`Self::bind_type`]; NULL if no record can have the value.
    fn bind<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        if !self.is_bindable() {
            return Self::bind_as_text(value);
        }
        let found = self.read(value).filter(|(value, ty)| self.binds(value, *ty));
        found.map_or(Cow::Owned(Value::Null), |(value, _)| value)
    }

    /// Returns the text of a value; NULL if it has none that can be stored.
    fn bind_as_text(value: &Value) -> Cow<'_, Value> {
        match value {
            value if !Self::is_storable(value) => Cow::Owned(Value::Null),
            Value::Text(_) => Cow::Borrowed(value),
            value => Cow::Owned(value_text(value).map_or(Value::Null, Value::Text)),
        }
    }

    /// Returns the value that a write stores in a column of this class. The database refuses values that the type does not have.
    fn written(&self, value: &Value) -> Value {
        value.clone()
    }

    /// Binds a list.
    fn list<'v>(values: impl Iterator<Item = Cow<'v, Value>>) -> Value;

    /// Returns whether the database can store a value. If it cannot, no parameter has the value.
    fn is_storable(_value: &Value) -> bool {
        true
    }

    /// Names the type in which a parameter is compared in a type; without one, that of texts.
    fn typed(&self, param: Expr, _ty: Option<ParamType>) -> Expr {
        param
    }

    /// Names the type of a list whose elements are compared in a type; without one, as texts.
    fn typed_list(&self, param: Expr, _ty: Option<ParamType>) -> Expr {
        param
    }

    /// Converts a value of this class to be compared in a type.
    fn in_type(&self, expr: Expr, _ty: ParamType) -> Expr {
        expr
    }

    /// Returns whether values can be compared with one another, in an order that a cursor can express.
    fn has_order(&self) -> bool {
        true
    }

    /// Returns whether a value known only at run time is compared with the column itself, not with its text.
    fn is_bindable(&self) -> bool {
        true
    }

    /// Returns whether equal values are also the same in all other comparisons.
    fn is_identity(&self) -> bool {
        false
    }

    /// Returns whether values are times in UTC, of a type with a zone that results do not show.
    fn is_utc(&self) -> bool {
        false
    }

    /// Returns the expression for a value of this class in a row of the result, and the type of the result's column.
    fn shown(&self, expr: Expr) -> (Expr, &'static str);

    /// Returns a value of this class as text, with the class of texts.
    fn to_text(&self, expr: Expr) -> (Expr, Self);

    /// Returns a value in a form that can be compared and ordered: unchanged for most types, else as text.
    fn comparable(self, expr: Expr) -> (Expr, Self) {
        if self.has_order() { (expr, self) } else { self.to_text(expr) }
    }

    /// Returns the class of values as they are stored, if different stored values compare as equal.
    fn as_stored(&self) -> Option<Self> {
        None
    }

    /// Compares two values of this class.
    fn compare(&self, left: Expr, op: CompareOp, right: Expr) -> Expr;

    /// Returns whether an index can be searched by comparing a row that contains a column of this class.
    fn compares_in_rows(&self) -> bool {
        false
    }

    /// Returns a value of this class in a form that is NULL only if the stored value is.
    fn or_null(&self, expr: Expr) -> Expr {
        expr
    }

    /// Returns a value in a form that is NULL if responses show it as `null`.
    fn complete(&self, expr: Expr) -> Expr {
        expr
    }
}

/// Returns the value as the text that a database would write for it; `None` for NULL.
pub(crate) fn value_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null | Value::InvalidText(_) => return None,
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) if value.is_finite() => number_text(*value),
        Value::Real(value) if value.is_nan() => "NaN".to_owned(),
        Value::Real(value) => if *value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => format!("\\x{}", HEXLOWER.encode(bytes)),
    })
}

/// Returns a number, or the number in a text.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Real(value) => Some(*value),
        Value::Text(text) if is_decimal(text) => text.parse().ok(),
        _ => None,
    }
}

/// Returns a double as an integer, if it is one.
pub(crate) fn whole(value: f64) -> Option<i64> {
    let fits = value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(&value);
    fits.then_some(value as i64)
}

/// Returns the integer that has this text.
pub(crate) fn canonical(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|value| value.to_string() == text)
}

/// Returns whether a text is a number without an exponent.
pub(crate) fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(whole) && all_digits(fraction)
}
