//! The values of parameters, which a request sends along with its query. `SPEC §19.2`

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use crate::Literal;
use crate::error::Quoted;

/// The values of parameters, by name.
///
/// ```
/// use mesh_ql::{Literal, ParamValue, ParamValues};
///
/// let params = ParamValues::parse(r#"{"status": "open", "ids": [1, 2]}"#).unwrap();
/// assert_eq!(params.get("status"), Some(&ParamValue::One("open".into())));
/// assert_eq!(params, ParamValues::new().with("status", "open").with("ids", vec![1, 2]));
/// assert!(ParamValues::parse("[]").is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ParamValues(BTreeMap<String, ParamValue>);

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// `null`, which means that there is no cursor.
    Null,
    /// A scalar.
    One(Literal),
    /// A list of scalars.
    Many(Vec<Literal>),
    /// Any other JSON value, which no parameter accepts, as a description for messages.
    Other(&'static str),
}

impl ParamValues {
    /// Creates an empty set of values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses a JSON object of values.
    ///
    /// # Errors
    /// A description of the mistake: the text is not a JSON object, or it contains a parameter twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Adds a value, or replaces the value with that name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<ParamValue>) -> Self {
        self.insert(name, value);
        self
    }

    /// Adds a value, or replaces the value with that name.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<ParamValue>) {
        self.0.insert(name.into(), value.into());
    }

    /// Removes the value of a parameter.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns the value of a parameter.
    pub fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.get(name)
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the values with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParamValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl From<Literal> for ParamValue {
    fn from(value: Literal) -> Self {
        Self::One(value)
    }
}

macro_rules! from_scalars {
    ($($scalar:ty),*) => {$(
        impl From<$scalar> for ParamValue {
            fn from(value: $scalar) -> Self {
                Self::One(value.into())
            }
        }
    )*};
}

from_scalars!(bool, i64, i32, f64, &str, String);

impl<T: Into<Literal>> From<Vec<T>> for ParamValue {
    fn from(values: Vec<T>) -> Self {
        Self::Many(values.into_iter().map(Into::into).collect())
    }
}

impl Serialize for ParamValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null | Self::Other(_) => serializer.serialize_unit(),
            Self::One(value) => value.serialize(serializer),
            Self::Many(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ParamValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;

        impl<'de> Visitor<'de> for Values {
            type Value = ParamValues;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object with the values of parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParamValues, A::Error> {
                let mut values = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    match values.entry(name) {
                        Entry::Vacant(entry) => entry.insert(map.next_value()?),
                        Entry::Occupied(entry) => {
                            let name = Quoted(entry.key());
                            return Err(A::Error::custom(format_args!(
                                "the parameter {name} is given twice"
                            )));
                        }
                    };
                }
                Ok(ParamValues(values))
            }
        }

        deserializer.deserialize_map(Values)
    }
}

impl<'de> Deserialize<'de> for ParamValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = ParamValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<ParamValue, E> {
        Ok(ParamValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<ParamValue, E> {
        Ok(Literal::Boolean(value).into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<ParamValue, E> {
        Ok(Literal::Integer(value).into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<ParamValue, E> {
        Ok(i64::try_from(value).map_or(Literal::Unsigned(value), Literal::Integer).into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<ParamValue, E> {
        Ok(Literal::Number(value).into())
    }

    fn visit_str<E>(self, value: &str) -> Result<ParamValue, E> {
        Ok(Literal::Text(value.to_owned()).into())
    }

    fn visit_string<E>(self, value: String) -> Result<ParamValue, E> {
        Ok(Literal::Text(value).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ParamValue, A::Error> {
        let mut list = Vec::new();
        let mut other = None;
        while let Some(value) = seq.next_element()? {
            match value {
                ParamValue::One(value) => list.push(value),
                ParamValue::Null => other = Some("a list with null"),
                ParamValue::Many(_) | ParamValue::Other(_) => other = Some("a list of lists or objects"),
            }
        }
        Ok(other.map_or(ParamValue::Many(list), ParamValue::Other))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParamValue, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(ParamValue::Other("an object"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_literals_of_queries_are() {
        let text = r#"{"a": -0, "b": 18446744073709551615, "c": 1.0, "d": null, "e": [true, "x"], "f": {"a": 1}, "g": [null]}"#;
        let values = ParamValues::parse(text).unwrap();
        let found: Vec<_> = values.iter().map(|(_, value)| value.clone()).collect();
        let expected = [
            Literal::Number(-0.0).into(),
            Literal::Unsigned(u64::MAX).into(),
            Literal::Number(1.0).into(),
            ParamValue::Null,
            ParamValue::Many(vec![Literal::Boolean(true), Literal::Text("x".to_owned())]),
            ParamValue::Other("an object"),
            ParamValue::Other("a list with null"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", "1", "[]", "null", r#"{"a": 1"#, r#"{"a": 1} x"#, r#"{"a": 1, "a": 1}"#, "{\"a\": 1e999}"]
        {
            assert!(ParamValues::parse(text).is_err(), "{text}");
        }
        assert!(ParamValues::parse(r#"{"a": 1, "a": 1}"#).unwrap_err().contains("'a' is given twice"));
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(ParamValues::parse(&deep).is_err());
    }
}
