//! Errors about the text of a query.

use std::fmt::{self, Display, Write};

use crate::span::{Position, Span};

/// The text is no query, or exceeds a bound. `SPEC §3.4`
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyntaxError {
    /// One sentence that names the offender and, where it is not obvious, what is allowed.
    pub message: String,
    /// The read node that contains the offender: dotted names from the root entity. `None` outside of nodes.
    pub path: Option<String>,
    /// The offender in the text.
    pub span: Span,
    /// Line and column of the offender.
    pub position: Position,
}

impl Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, path, span: _, position } = self;
        match path {
            Some(path) => write!(f, "{message} ({position}, in {path})"),
            None => write!(f, "{message} ({position})"),
        }
    }
}

impl std::error::Error for SyntaxError {}

/// A client's name as messages show it: in quotes, on one line, and shortened so that an error cannot be made
/// to carry the whole query back.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Quoted<'_> {
    const MAX_CHARS: usize = 64;
}

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        let mut rest = self.0.chars();
        for character in rest.by_ref().take(Self::MAX_CHARS) {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        f.write_str(if rest.next().is_some() { "…'" } else { "'" })
    }
}
