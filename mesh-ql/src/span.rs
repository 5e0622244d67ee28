//! Locations in the text of a query: byte ranges, and lines and columns for people.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Serialize, Serializer};

/// A range of bytes in the text of a query. Offsets above [`u32::MAX`] are clamped to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset of the byte after the last one.
    pub end: u32,
}

impl Span {
    /// Creates the span of the bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        let offset = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: offset(start), end: offset(end) }
    }

    /// Returns the line and the column of the first byte. `text` must be the text that the span refers to.
    pub fn position(self, text: &str) -> Position {
        let mut start = text.len().min(self.start as usize);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = text.get(..start).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Position { line: number(line), column: number(column) }
    }

    /// Returns the part of `text` that the span covers; empty if the span exceeds the text.
    pub(crate) fn slice(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A location in a text as editors show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A part of a query and its location in the text that it was parsed from.
///
/// Comparisons ignore the location, so queries with the same meaning are equal.
///
/// ```
/// use mesh_ql::{Format, Limits, Span, build::query, parse};
///
/// let parsed = parse(Format::Ql, "{ user  name }", &Limits::default()).unwrap();
/// assert_eq!(parsed.root.select[0].name().span, Some(Span::new(8, 12)));
/// assert_eq!(parsed, query("user").field("name").build());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Spanned<T> {
    /// The part itself.
    pub value: T,
    /// Its location; `None` for parts built in code.
    pub span: Option<Span>,
}

/// The name of an entity, a field, a relation or an aggregate in a query.
pub type Name = Spanned<String>;

impl<T> Spanned<T> {
    /// Creates a part of a parsed text.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span: Some(span) }
    }
}

impl<T> From<T> for Spanned<T> {
    fn from(value: T) -> Self {
        Self { value, span: None }
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Spanned<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.value == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.value == *other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        self.value == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_text_keep_it() {
        assert_eq!(Name::from("größe").value, "größe");
    }

    #[test]
    fn names_equal_their_text() {
        assert_eq!(Name::from("size"), String::from("size"));
        assert_ne!(Name::from("size"), String::from("sizes"));
        assert_eq!(Name::from("size"), *"size");
        assert_ne!(Name::from("size"), *"sizes");
    }

    #[test]
    fn columns_count_characters() {
        let text = "{\n\tgröße 東京";
        let position = |start| {
            let Position { line, column } = Span::new(start, start).position(text);
            (line, column)
        };
        assert_eq!(position(0), (1, 1));
        assert_eq!(position(2), (2, 1));
        assert_eq!(position(text.find('東').unwrap()), (2, 8));
        assert_eq!(position(text.find('東').unwrap() + 1), (2, 8));
        assert_eq!(position(text.len()), (2, 10));
        assert_eq!(position(1_000), (2, 10));
    }
}
