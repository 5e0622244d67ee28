//! The base path of all routes.
//! `SPEC §2.1`

use std::borrow::Cow;
use std::fmt;

use super::path::Segments;
use crate::WireError;

/// The path that all routes lie under: empty, or segments that each begin with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// Reads a base path as configured: `""` and `"/"` are the root, a trailing slash means nothing.
    pub fn parse(text: &str) -> Result<Self, BasePathError> {
        let path = text.strip_suffix('/').unwrap_or(text);
        if path.is_empty() {
            return Ok(Self(String::new()));
        }
        let Some(inner) = path.strip_prefix('/') else { return Err(BasePathError::NoSlash) };
        for segment in inner.split('/') {
            if matches!(segment, "" | "." | "..") {
                return Err(BasePathError::Segment(segment.to_owned()));
            }
            let plain = |c: &char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(*c);
            if let Some(character) = segment.chars().find(|c| !plain(c)) {
                return Err(BasePathError::Character(character));
            }
        }
        Ok(Self(path.to_owned()))
    }

    /// The path that all paths lie under.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// The normal form: empty for the root, else without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The decoded segments of an undecoded path that lies under this one, after it.
    ///
    /// Refuses a segment that has no text with 400, and a path that lies elsewhere with 404.
    pub fn split<'p>(&self, path: &'p str) -> Result<Vec<Cow<'p, str>>, WireError> {
        let mut segments = Segments::new(path)?;
        for expected in self.segments() {
            if segments.next()?.as_deref() != Some(expected) {
                return Err(WireError::not_found());
            }
        }
        let mut rest = Vec::new();
        while let Some(segment) = segments.next()? {
            rest.push(segment);
        }
        Ok(rest)
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').skip(1)
    }
}

/// `/mesh`.
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

/// Why a text is no base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BasePathError {
    /// It does not begin with a slash.
    NoSlash,
    /// A segment that is empty or a dot segment.
    Segment(String),
    /// A character that would have to be encoded in a URL.
    Character(char),
}

impl fmt::Display for BasePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSlash => f.write_str("a base path begins with '/', as '/mesh' does"),
            Self::Segment(segment) if segment.is_empty() => {
                f.write_str("a base path has no empty segments; write one '/' between two names")
            }
            Self::Segment(segment) => write!(f, "a base path cannot have the segment '{segment}'"),
            Self::Character(character) => {
                write!(f, "a base path cannot have the character '{}'", character.escape_default())
            }
        }
    }
}

impl std::error::Error for BasePathError {}
