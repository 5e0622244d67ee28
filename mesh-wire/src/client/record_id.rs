//! Ids of records in paths and bodies.

use std::borrow::Cow;

use serde_json::Value;

use crate::route::percent;

/// The id of a record: a text, or one text per field for a key of several fields. `SPEC §15`
///
/// ```
/// use mesh_wire::client::RecordId;
///
/// assert_eq!(RecordId::from("a/b").to_segment(), "a%2Fb");
/// assert_eq!(RecordId::from(["1", "a,b"]).to_segment(), "1,a%2Cb");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordId {
    /// The text of an id field. For a key of several fields, the parts joined by commas, such as `1,2`. This equals
    /// [`RecordId::Parts`] if no part contains a comma or a percent sign.
    Text(String),
    /// One text for each field.
    Parts(Vec<String>),
}

impl RecordId {
    /// Returns the id that a path segment names. Only characters that would otherwise separate parts or begin an escape have
    /// to be percent-encoded, so a text that is no segment is taken literally.
    ///
    /// ```
    /// use mesh_wire::client::RecordId;
    ///
    /// for (segment, sent) in [("7", "7"), ("2,d%2C2,1", "2,d%2C2,1"), ("a%2Cb", "a%2Cb"), ("a b", "a%20b"), ("50%", "50%25")] {
    ///     assert_eq!(RecordId::from_segment(segment).to_segment(), sent);
    /// }
    /// ```
    pub fn from_segment(segment: &str) -> Self {
        let decoded = |part: &str| percent::decode(part).ok().map(Cow::into_owned);
        match segment.split(',').map(decoded).collect() {
            Some(parts) if segment.contains('%') => Self::Parts(parts),
            _ => segment.into(),
        }
    }

    /// Returns the id as a percent-encoded path segment. Commas in [`RecordId::Text`] are kept: they separate the parts
    /// of a key of several fields, and the server reads them as part of the text if the key has one field.
    pub fn to_segment(&self) -> String {
        let join = |parts: Vec<String>| parts.join(",");
        match self {
            Self::Text(text) => join(text.split(',').map(percent::encode).collect()),
            Self::Parts(parts) => join(parts.iter().map(|part| percent::encode(part)).collect()),
        }
    }

    /// Returns the JSON value of the id in bodies.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Parts(parts) => parts.iter().map(String::as_str).collect(),
        }
    }
}

impl From<&str> for RecordId {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for RecordId {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for RecordId {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&Self> for RecordId {
    fn from(id: &Self) -> Self {
        id.clone()
    }
}

impl<const N: usize> From<[&str; N]> for RecordId {
    fn from(parts: [&str; N]) -> Self {
        Self::Parts(parts.map(str::to_owned).to_vec())
    }
}

impl FromIterator<String> for RecordId {
    fn from_iter<I: IntoIterator<Item = String>>(parts: I) -> Self {
        Self::Parts(parts.into_iter().collect())
    }
}
