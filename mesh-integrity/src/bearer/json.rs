//! JSON objects without repeated members, at any depth.
//!
//! Parsers differ in which of two equal members they use. A token that passes the check of one
//! party could be read differently by the party that uses it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses an object. Returns `None` if the text is not an object, or if an object in it repeats a member.
pub(super) fn parse_object(text: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(text).ok()? {
        Distinct(Value::Object(members)) => Some(members),
        Distinct(_) => None,
    }
}

/// A value whose objects have distinct members.
struct Distinct(Value);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctVisitor).map(Self)
    }
}

struct DistinctVisitor;

impl<'de> Visitor<'de> for DistinctVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("the number is too large"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Distinct(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, Distinct(value))) = access.next_entry::<String, Distinct>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a member is repeated"));
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_parsed() {
        let text = r#"{"a": [1, -2, 2.5, "x", true, null, {"b": {}}], "c\n": 18446744073709551615}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse_object(text.as_bytes()).map(Value::Object), Some(expected));
    }

    #[test]
    fn repeated_members_and_other_texts_are_refused() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"{"a": [{"b": 1, "b": 2}]}"#,
            r#"{"a": {"b": 1, "b": 2}}"#,
            "[]",
            "1",
            "",
            "{",
            "{} {}",
            r#"{"a": 1e999}"#,
            "{\"a\": \"\u{0}\"}",
        ] {
            assert_eq!(parse_object(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_object(b"{\"a\": \"\xff\"}"), None);
        assert_eq!(parse_object("{\"a\":".repeat(10_000).as_bytes()), None);
    }
}
