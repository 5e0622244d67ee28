//! The base path of all routes, and the segments of the paths below it. `SPEC §2.1`

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

use super::percent;
use crate::WireError;

/// The common prefix of all routes: empty, or segments that each begin with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// Parses a base path. `""` and `"/"` are the root; a trailing slash is ignored.
    ///
    /// # Errors
    /// [`BasePathError`] for a path that is not absolute, has empty or dot segments, or has characters that must be
    /// escaped in URLs.
    pub fn parse(text: &str) -> Result<Self, BasePathError> {
        let path = text.strip_suffix('/').unwrap_or(text);
        if path.is_empty() {
            return Ok(Self(String::new()));
        }
        let Some(inner) = path.strip_prefix('/') else { return Err(BasePathError::NoSlash) };
        for segment in inner.split('/') {
            match segment {
                "" => return Err(BasePathError::EmptySegment),
                "." | ".." => return Err(BasePathError::DotSegment(segment.to_owned())),
                _ => {}
            }
            let plain = |c: &char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(*c);
            if let Some(character) = segment.chars().find(|c| !plain(c)) {
                return Err(BasePathError::Character(character));
            }
        }
        Ok(Self(path.to_owned()))
    }

    /// Returns the empty base path.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Returns the normal form: empty for the root, else without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether an undecoded path is this one or below it.
    pub fn contains(&self, path: &str) -> bool {
        self.strip(path).is_ok()
    }

    /// Strips this base path from an undecoded path.
    pub(super) fn strip<'b, 'p>(&'b self, path: &'p str) -> Result<Segments<'b, 'p>, WireError> {
        let mut segments = Segments::new(self, path)?;
        for expected in self.0.split('/').skip(1) {
            if segments.next()?.is_none_or(|segment| segment.text != expected) {
                return Err(WireError::no_route(self));
            }
        }
        Ok(segments)
    }
}

/// The default base path is `/mesh`.
impl Default for BasePath {
    fn default() -> Self {
        Self("/mesh".to_owned())
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The reason why a text is not a base path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BasePathError {
    /// It does not begin with a slash.
    #[error("a base path must begin with '/', such as '/mesh'")]
    NoSlash,
    /// A segment is empty.
    #[error("a base path must not have empty segments; write one '/' between two names")]
    EmptySegment,
    /// A segment is `.` or `..`.
    #[error("a base path must not have the segment '{0}'")]
    DotSegment(String),
    /// A character must be escaped in URLs.
    #[error("a base path must not have the character '{}'", .0.escape_default())]
    Character(char),
}

/// A segment of a path.
pub(super) struct Segment<'p> {
    /// The segment as in the path.
    pub(super) raw: &'p str,
    /// The decoded segment.
    pub(super) text: Cow<'p, str>,
}

/// A cursor over the segments of an undecoded path.
pub(super) struct Segments<'b, 'p> {
    /// For error messages.
    base: &'b BasePath,
    rest: Option<&'p str>,
    /// How many segments have been returned.
    count: usize,
}

impl<'b, 'p> Segments<'b, 'p> {
    /// Starts at the first segment. One trailing slash is ignored.
    pub(super) fn new(base: &'b BasePath, path: &'p str) -> Result<Self, WireError> {
        let inner = path.strip_prefix('/').ok_or_else(|| WireError::no_route(base))?;
        let rest = (!inner.is_empty()).then(|| inner.strip_suffix('/').unwrap_or(inner));
        Ok(Self { base, rest, count: 0 })
    }

    /// Decodes the next segment. Refuses an empty one with 404, and one that cannot be decoded with 400.
    pub(super) fn next(&mut self) -> Result<Option<Segment<'p>>, WireError> {
        let Some(rest) = self.rest else { return Ok(None) };
        let (segment, rest) = match rest.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        self.count += 1;
        if segment.is_empty() {
            return Err(WireError::no_route(self.base));
        }
        let text = percent::decode(segment).map_err(|percent::Undecodable(why)| {
            WireError::transport(format!("Segment {} of the path cannot be decoded: {why}", self.count))
        })?;
        Ok(Some(Segment { raw: segment, text }))
    }
}
