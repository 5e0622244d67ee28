//! Parsing of JSON that refuses duplicate names. The statement and `meta` decide what is stored, so two parsers must
//! not read them differently.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses a text that must be a single JSON value. serde_json limits the depth.
pub(crate) fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Strict;

/// Defines the visitor methods of scalar values.
macro_rules! scalars {
    ($($visit:ident: $ty:ty),*) => {
        $(fn $visit<E>(self, value: $ty) -> Result<Value, E> {
            Ok(value.into())
        })*
    };
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(Self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if values.contains_key(&name) {
                return Err(A::Error::custom(format_args!("'{name}' is repeated")));
            }
            let value = map.next_value_seed(Self)?;
            values.insert(name, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_equal_those_of_serde_json() {
        let text = r#"{"a": [1, -2, 0.5, "x\n", null, true, {"b": {}}], "c": 18446744073709551615}"#;
        assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn repeated_names_are_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"b":[{"a":1,"\u0061":2}]}"#] {
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains("'a' is repeated"), "{message}");
        }
    }

    #[test]
    fn deep_nesting_and_trailing_text_are_refused() {
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
        assert!(parse(b"{} {}").is_err());
        assert!(parse(b"").is_err());
    }
}
