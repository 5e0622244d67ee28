//! Queries of requests, as text or parsed.

use std::borrow::Cow;

use mesh_ql::{Format, Limits, Query, SyntaxError, print_json};

/// The query of a request.
#[derive(Clone, Copy, Debug)]
pub enum QuerySource<'a> {
    /// A text, which is parsed unless its plan is cached.
    Text {
        /// The format that it is written in.
        format: Format,
        /// The query.
        text: &'a str,
    },
    /// A query that the application has parsed or built. The bounds on texts ([`Limits`]) do not apply to it, and
    /// errors have its spans, but no line and column.
    Parsed(&'a Query),
}

impl<'a> From<&'a Query> for QuerySource<'a> {
    fn from(query: &'a Query) -> Self {
        Self::Parsed(query)
    }
}

impl<'a> From<(Format, &'a str)> for QuerySource<'a> {
    fn from((format, text): (Format, &'a str)) -> Self {
        Self::Text { format, text }
    }
}

impl<'a> QuerySource<'a> {
    /// Returns a text that identifies the query in caches.
    pub(crate) fn canonical(self) -> (Format, Cow<'a, str>) {
        match self {
            Self::Text { format, text } => (format, Cow::Borrowed(text)),
            Self::Parsed(query) => (Format::Json, Cow::Owned(print_json(query))),
        }
    }

    /// Parses a text; a parsed query is returned as it is.
    pub(crate) fn parse(self, limits: &Limits) -> Result<Cow<'a, Query>, SyntaxError> {
        match self {
            Self::Text { format, text } => mesh_ql::parse(format, text, limits).map(Cow::Owned),
            Self::Parsed(query) => Ok(Cow::Borrowed(query)),
        }
    }
}
