//! Parsing of both query formats.

mod json;
mod parser;
mod ql;
mod token;

use crate::{Limits, Query, Span, SyntaxError, named_enum};
pub(crate) use token::is_identifier;

named_enum! {
    /// The format of a query's text. `SPEC §2.5`
    #[derive(Default)]
    Format {
        /// Selection and controls, as one JSON object.
        #[default]
        Json = "json",
        /// The brace format: selection only.
        Ql = "ql",
    }
}

impl Format {
    /// Detects the format of a text, which is unambiguous: in QL a name follows the first brace, in JSON it does not.
    /// `SPEC §4`
    pub fn detect(text: &str) -> Self {
        let blank = [' ', '\t', '\r', '\n'];
        let inner = text.trim_start_matches(blank).strip_prefix('{');
        match inner.and_then(|inner| inner.trim_start_matches(blank).chars().next()) {
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => Self::Ql,
            _ => Self::Json,
        }
    }
}

/// Parses a query and checks every bound of `limits`. Bounds on nesting are clamped to [`Limits::MAX_DEPTH`] and
/// [`Limits::MAX_FILTER_DEPTH`].
///
/// # Errors
/// The first fault in the text with its location: wrong syntax, a violated rule of `SPEC §3` or `§4` that needs
/// no schema, or an exceeded bound.
pub fn parse(format: Format, text: &str, limits: &Limits) -> Result<Query, SyntaxError> {
    let bound = limits.query_bytes;
    if text.len() > bound {
        let message =
            format!("The query has {} bytes, more than the bound `query_bytes` ({bound}) allows", text.len());
        let span = Span::new(0, text.len());
        return Err(SyntaxError { message, path: None, span, position: span.position(text) });
    }
    let limits = Limits {
        depth: limits.depth.min(Limits::MAX_DEPTH),
        filter_depth: limits.filter_depth.min(Limits::MAX_FILTER_DEPTH),
        ..*limits
    };
    match format {
        Format::Json => json::parse(text, &limits),
        Format::Ql => ql::parse(text, &limits),
    }
}
