//! The body of a write: the members of a JSON object, without duplicates.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

/// The members of a write's body, in the text that they were parsed from. Values keep their JSON text, so that no digit is lost
/// before the type of the field is known.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a> {
    members: Vec<Member<'a>>,
}

type Member<'a> = (Cow<'a, str>, Cow<'a, RawValue>);

/// The error for a text that is not the body of a write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct FieldsError(String);

impl<'a> Fields<'a> {
    /// Parses a JSON object. Duplicate members are refused, because parsers differ in which of them they use.
    ///
    /// # Errors
    /// The text is not UTF-8 or not a JSON object, or it has a duplicate member.
    pub fn parse(text: &'a [u8]) -> Result<Self, FieldsError> {
        let text = utf8(text)?;
        if !text.trim_ascii_start().starts_with('{') {
            return Err(FieldsError("The body must be a JSON object of fields and their values".to_owned()));
        }
        serde_json::from_str(text)
            .map_err(|error| FieldsError(format!("The body is not a valid JSON object: {error}")))
    }

    /// Splits a JSON array into the texts of its elements.
    ///
    /// # Errors
    /// The text is not UTF-8 or not a JSON array.
    pub fn split_list(text: &[u8]) -> Result<Vec<&str>, FieldsError> {
        let text = utf8(text)?;
        let items: Result<Vec<&RawValue>, _> = serde_json::from_str(text);
        let items = items.map_err(|error| FieldsError(format!("The body is not a JSON array: {error}")))?;
        Ok(items.into_iter().map(RawValue::get).collect())
    }

    /// Returns the value of a member; `None` if the member is missing or has another type.
    pub fn read<'f, T: Deserialize<'f>>(&'f self, name: &str) -> Option<T> {
        serde_json::from_str(self.text(name)?).ok()
    }

    /// Returns the JSON text of a member.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.iter().find_map(|(member, text)| (member == name).then_some(text))
    }

    /// Returns the members in their order, each with its JSON text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value.get()))
    }

    /// Returns whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Sets a member.
    #[must_use]
    pub fn with(self, name: &str, value: &serde_json::Value) -> Self {
        let mut fields = self.without(name);
        // Every JSON value has a text.
        if let Ok(text) = serde_json::value::to_raw_value(value) {
            fields.members.push((Cow::Owned(name.to_owned()), Cow::Owned(text)));
        }
        fields
    }

    /// Removes a member.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.members.retain(|(member, _)| member != name);
        self
    }

    /// Copies the members, so that they can outlive the text.
    #[must_use]
    pub fn into_owned(self) -> Fields<'static> {
        let owned = |(name, value): Member<'_>| -> Member<'static> {
            (Cow::Owned(name.into_owned()), Cow::Owned(value.into_owned()))
        };
        Fields { members: self.members.into_iter().map(owned).collect() }
    }
}

fn utf8(text: &[u8]) -> Result<&str, FieldsError> {
    std::str::from_utf8(text).map_err(|error| {
        FieldsError(format!("The body is not valid UTF-8 at byte {}", error.valid_up_to() + 1))
    })
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members).map(|members| Fields { members })
    }
}

/// The name of a member, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<Member<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of fields and their values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Member<'de>>, A::Error> {
        let mut members: Vec<Member<'_>> = Vec::new();
        while let Some((Name(name), value)) = map.next_entry::<_, &RawValue>()? {
            members.push((name, Cow::Borrowed(value)));
        }
        match repeated(&members) {
            Some(name) => Err(A::Error::custom(format_args!("'{name}' is given more than once"))),
            None => Ok(members),
        }
    }
}

/// Returns a name that several members have. Sorting a few names is faster than hashing them.
fn repeated<'m>(members: &'m [Member<'_>]) -> Option<&'m str> {
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
    names.sort_unstable();
    names.windows(2).find_map(|pair| match pair {
        [one, next] if one == next => Some(*one),
        _ => None,
    })
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
    fn members_with_escapes_and_owned_ones_are_the_same() {
        let fields = Fields::parse(br#"{"a\u0062": "\n"}"#).unwrap();
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("ab", r#""\n""#)]);
        assert_eq!(fields.clone().into_owned().iter().collect::<Vec<_>>(), fields.iter().collect::<Vec<_>>());
    }

    #[test]
    fn texts_other_than_objects_are_refused() {
        for text in [&b""[..], b"[]", b"1", b"null", b"{", b"{\"a\":1,\"a\":2}", b"{\"a\":1} x", b"\xff"] {
            assert!(Fields::parse(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn lists_are_split_into_the_texts_of_their_elements() {
        assert_eq!(Fields::split_list(b" [{\"a\": 1.10}, 2 ,[3]] ").unwrap(), ["{\"a\": 1.10}", "2", "[3]"]);
        assert_eq!(Fields::split_list(b"[]").unwrap(), [""; 0]);
        for text in [&b""[..], b"{}", b"[", b"[1,]", b"[1] x", b"\xff"] {
            assert!(Fields::split_list(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }
}
