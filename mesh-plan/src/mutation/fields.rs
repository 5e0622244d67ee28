//! The fields in the body of a write: the members of a JSON object, without duplicates.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a write's body. Values keep the text they were written as, so that no digit is lost before
/// the field's type is known.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    members: Vec<(String, Box<RawValue>)>,
}

/// Why a text is no body of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldsError {
    message: String,
}

impl fmt::Display for FieldsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FieldsError {}

impl Fields {
    /// Reads a JSON object. A member that stands twice is refused, since two readers might take different
    /// ones.
    ///
    /// # Errors
    /// Text that is not UTF-8, no JSON, no object, or has a member twice.
    pub fn parse(text: &[u8]) -> Result<Self, FieldsError> {
        let refused = |message: String| FieldsError { message };
        let text = std::str::from_utf8(text).map_err(|error| {
            refused(format!("The body is not UTF-8 from byte {} on", error.valid_up_to() + 1))
        })?;
        if !text.trim_ascii_start().starts_with('{') {
            return Err(refused("The body must be a JSON object of fields and their values".to_owned()));
        }
        serde_json::from_str(text)
            .map_err(|error| refused(format!("The body is not a JSON object as expected: {error}")))
    }

    /// The value of a member, read as a type of Rust: for handlers that take a body apart themselves.
    pub fn read<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Option<T> {
        serde_json::from_str(self.text(name)?).ok()
    }

    /// The JSON text of a member.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.iter().find_map(|(member, text)| (member == name).then_some(text))
    }

    /// The members in the order written, each with its JSON text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value.get()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds a member, in place of one of the same name.
    #[must_use]
    pub fn with(mut self, name: &str, value: &serde_json::Value) -> Self {
        self.members.retain(|(member, _)| member != name);
        // Every JSON value has a text.
        if let Ok(text) = serde_json::value::to_raw_value(value) {
            self.members.push((name.to_owned(), text));
        }
        self
    }

    /// Takes a member out, for one that a handler sees to itself.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.members.retain(|(member, _)| member != name);
        self
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of fields and their values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("'{name}' is given more than once")));
            }
            members.push((name, map.next_value()?));
        }
        Ok(Fields { members })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_text() {
        let fields = Fields::parse(br#" {"a": 1.10, "b": {"x": [1,  2]}, "c": null} "#).unwrap();
        let members: Vec<_> = fields.iter().collect();
        assert_eq!(members, [("a", "1.10"), ("b", r#"{"x": [1,  2]}"#), ("c", "null")]);
        assert_eq!(fields.read::<f64>("a"), Some(1.1));
        assert_eq!(fields.read::<String>("a"), None);
        assert!(fields.with("d", &"x".into()).without("a").text("a").is_none());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in [&b""[..], b"[]", b"1", b"null", b"{", b"{\"a\":1,\"a\":2}", b"{\"a\":1} x", b"\xff"] {
            assert!(Fields::parse(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }
}
