//! Scalars between a back end and the response: owned values, and borrowed ones for the hot path.

pub(crate) mod bucket;
pub(crate) mod canonical;
pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod like;
pub(crate) mod number;
pub(crate) mod search;
pub(crate) mod time;

/// A scalar that a resolver returns or that is bound to a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// SQL NULL, JSON `null`.
    #[default]
    Null,
    /// A boolean; back ends without a boolean type store 0 and 1.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A double; NaN and the infinities become `null` in a response.
    Real(f64),
    /// Text, including dates, times, UUIDs, exact decimals and JSON.
    Text(String),
    /// Text that is not UTF-8, which SQLite may store. Responses have U+FFFD in place of the invalid bytes.
    InvalidText(Vec<u8>),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Returns whether a text is a decimal that is no number.
pub fn is_special_decimal(text: &str) -> bool {
    matches!(text, "NaN" | "Infinity" | "-Infinity")
}

impl Value {
    /// Returns text that may not be UTF-8.
    pub(crate) fn from_text(text: Vec<u8>) -> Self {
        String::from_utf8(text).map_or_else(|error| Self::InvalidText(error.into_bytes()), Self::Text)
    }

    /// Borrows the value.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Boolean(value) => ValueRef::Boolean(*value),
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::InvalidText(value) => ValueRef::Text(value),
            Self::Bytes(value) => ValueRef::Bytes(value),
        }
    }
}

macro_rules! impl_from {
    ($($from:ty => $variant:ident,)*) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

impl_from! {
    bool => Boolean,
    i64 => Integer,
    i32 => Integer,
    u32 => Integer,
    f64 => Real,
    &str => Text,
    String => Text,
    Vec<u8> => Bytes,
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A borrowed scalar, for example from a driver's row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// SQL NULL.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text, normally UTF-8. SQLite does not guarantee that; invalid bytes become U+FFFD when they are written.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl ValueRef<'_> {
    /// Copies the value.
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => Value::Boolean(value),
            Self::Integer(value) => Value::Integer(value),
            Self::Real(value) => Value::Real(value),
            Self::Text(value) => Value::from_text(value.to_vec()),
            Self::Bytes(value) => Value::Bytes(value.to_vec()),
        }
    }

    /// Returns whether the value is NULL.
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }
}
