//! Keys of records: as values, and as requests name them.

use std::borrow::Cow;
use std::ops::Deref;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use smallvec::{SmallVec, smallvec};

use super::Value;

/// Every character except the unreserved ones of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The values of the fields that identify a record, in the order of `idField`. A key without values is a key that no record
/// has. Most keys have one value, which needs no separate allocation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Key(SmallVec<[Value; 1]>);

impl Key {
    /// Returns whether no record can have the key: it has no values, or one of them is NULL.
    pub fn is_impossible(&self) -> bool {
        self.is_empty() || self.contains(&Value::Null)
    }

    /// Returns the first and the last of several keys if they are integers, each one more than the previous key. No other
    /// integers are between them.
    pub fn consecutive(keys: &[Self]) -> Option<(i64, i64)> {
        let integer = |key: &Self| match **key {
            [Value::Integer(value)] => Some(value),
            _ => None,
        };
        let (first, last) = (integer(keys.first()?)?, integer(keys.last()?)?);
        (keys.len() > 1 && keys.iter().map(integer).eq((first..=last).map(Some))).then_some((first, last))
    }
}

impl Deref for Key {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

/// A key of one value.
impl<V: Into<Value>> From<V> for Key {
    fn from(value: V) -> Self {
        Self(smallvec![value.into()])
    }
}

impl FromIterator<Value> for Key {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The id of a record as a request names it. `SPEC §15`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordId<'a> {
    /// The text of the id field, or of several id fields as in a path.
    Text(&'a str),
    /// An undecoded segment of a path: the percent-encoded text of the id field, or the texts of several id fields joined by
    /// commas.
    Segment(&'a str),
    /// The text of each field.
    Parts(&'a [String]),
}

impl<'a> From<&'a str> for RecordId<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for RecordId<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> RecordId<'a> {
    /// Returns the text of the id of an entity with that number of id fields, as in [`RecordId::Text`].
    pub fn to_text(self, fields: usize) -> Cow<'a, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Segment(text) if fields == 1 => decode(text).unwrap_or(Cow::Borrowed(text)),
            Self::Segment(text) => Cow::Borrowed(text),
            Self::Parts([one]) if fields == 1 => Cow::Borrowed(one),
            Self::Parts(parts) => Cow::Owned(join(parts.iter().map(String::as_str))),
        }
    }

    /// Returns the texts of the id fields of an entity with that number of id fields.
    pub fn to_texts(self, fields: usize) -> Vec<String> {
        let text = self.to_text(fields);
        if fields == 1 {
            return vec![text.into_owned()];
        }
        let decoded = |part| decode(part).map_or_else(|| part.to_owned(), Cow::into_owned);
        text.split(',').map(decoded).collect()
    }

    /// Returns the path segment of the id of an entity with that number of id fields.
    pub fn to_segment(self, fields: usize) -> String {
        join(self.to_texts(fields).iter().map(String::as_str))
    }
}

/// The id of a record in a JSON body. Numbers keep their digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonId {
    /// A string or a number.
    Text(String),
    /// An array with the parts of an id: strings, numbers and booleans.
    Parts(Vec<String>),
}

impl JsonId {
    /// Returns the id as a [`RecordId`].
    pub fn as_record_id(&self) -> RecordId<'_> {
        match self {
            Self::Text(text) => RecordId::Text(text),
            Self::Parts(parts) => RecordId::Parts(parts),
        }
    }
}

/// Joins the texts of several fields.
pub(crate) fn join<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    parts.map(encode).collect::<Vec<_>>().join(",")
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Decodes a percent-encoded text; `None` if an escape is incomplete or the bytes are not UTF-8.
pub(crate) fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let is_escape = |rest: &str| rest.bytes().take_while(u8::is_ascii_hexdigit).take(2).count() == 2;
    text.split('%').skip(1).all(is_escape).then(|| percent_decode_str(text).decode_utf8().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_value_and_of_several_compare_by_their_values() {
        let several: Key = [Value::Integer(1), "x".into()].into_iter().collect();
        assert_eq!(*several, [Value::Integer(1), "x".into()]);
        assert_eq!(Key::from(1), [Value::Integer(1)].into_iter().collect());
        assert_ne!(Key::from(1), several);
        assert!(Key::default().is_impossible() && !several.is_impossible());
        assert!([Value::Integer(1), Value::Null].into_iter().collect::<Key>().is_impossible());
    }

    #[test]
    fn consecutive_keys_are_integers_without_a_gap() {
        let consecutive =
            |ids: &[i64]| Key::consecutive(&ids.iter().copied().map(Key::from).collect::<Vec<_>>());
        assert_eq!(consecutive(&[7, 8, 9]), Some((7, 9)));
        assert_eq!(consecutive(&[i64::MAX - 1, i64::MAX]), Some((i64::MAX - 1, i64::MAX)));
        for ids in [&[][..], &[1], &[1, 1], &[2, 1], &[1, 3], &[1, 3, 2, 4], &[i64::MIN, i64::MAX]] {
            assert_eq!(consecutive(ids), None, "{ids:?}");
        }
        let pair: Key = [Value::Integer(1), Value::Integer(2)].into_iter().collect();
        assert_eq!(Key::consecutive(&[Key::from("a"), Key::from("b")]), None);
        assert_eq!(Key::consecutive(&[pair.clone(), pair]), None);
    }

    #[test]
    fn parts_are_encoded_each_on_its_own() {
        let parts = ["a,b/c%".to_owned(), "é".to_owned(), String::new()];
        let text = RecordId::Parts(&parts).to_text(3);
        assert_eq!(text, "a%2Cb%2Fc%25,%C3%A9,");
        assert_eq!(RecordId::Text(&text).to_segment(3), text);
        assert_eq!(RecordId::Segment("a%2cb%2fc%25,é,").to_segment(3), text);
    }

    #[test]
    fn the_id_of_one_field_is_plain_text() {
        assert_eq!(RecordId::Segment("a%2Cb,c").to_text(1), "a,b,c");
        assert_eq!(RecordId::Text("a,b%").to_segment(1), "a%2Cb%25");
        assert_eq!(RecordId::Parts(&["a,b".to_owned()]).to_text(1), "a,b");
    }
}
