//! What is wrong with a query's text, and where?

use std::fmt::{self, Display, Write};

use crate::place::Place;

/// Why a text is no query. `SPEC §3.4`
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyntaxError {
    /// One sentence that names the offender and, where it is not obvious, what to do.
    pub message: String,
    /// The read node in which the offender stands: dotted refs from the root entity.
    pub path: Option<String>,
    /// The offender's line, from 1. Absent only when the text as a whole is too long.
    pub line: Option<u32>,
    /// The offender's column in characters, from 1.
    pub column: Option<u32>,
}

impl SyntaxError {
    /// An error about the byte at `offset` of `text`, or about its end.
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let (line, column) = position(text, offset);
        Self { message: message.into(), path: None, line: Some(line), column: Some(column) }
    }

    /// The same error, inside that read node.
    pub(crate) fn inside(self, place: Option<&Place<'_>>) -> Self {
        Self { path: place.map(Place::path), ..self }
    }
}

impl Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, " at line {line}, column {column}")?;
        }
        match &self.path {
            Some(path) => write!(f, " (in {path})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SyntaxError {}

/// Line and column of a byte, both from 1; columns count characters.
fn position(text: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

/// A client's name as messages show it: in quotes, on one line, and shortened so that an error cannot be made
/// to carry the whole query back.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Quoted<'_> {
    const SHOWN: usize = 64;
}

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        let mut rest = self.0.chars();
        for character in rest.by_ref().take(Self::SHOWN) {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        f.write_str(if rest.next().is_some() { "…'" } else { "'" })
    }
}
