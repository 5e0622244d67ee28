//! The base path of all routes. `SPEC §2.1`

use std::borrow::Cow;
use std::fmt;

use super::segments::Segments;
use crate::WireError;

/// The common prefix of all routes: empty, or segments that each begin with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// Parses a base path. `""` and `"/"` are the root; a trailing slash is ignored.
    ///
    /// # Errors
    /// [`BasePathError`] for a path that is not absolute, has empty or dot segments, or has characters that URLs escape.
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

    /// Returns the empty base path.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Returns the normal form: empty for the root, else without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the decoded segments of an undecoded path after this base path.
    ///
    /// # Errors
    /// 400 if a segment cannot be decoded; 404 if the path is not under this one.
    pub fn split<'p>(&self, path: &'p str) -> Result<Vec<Cow<'p, str>>, WireError> {
        let mut segments = self.strip(path)?;
        let mut rest = Vec::new();
        while let Some(segment) = segments.next()? {
            rest.push(segment);
        }
        Ok(rest)
    }

    /// Strips this base path from an undecoded path.
    pub(super) fn strip<'p>(&self, path: &'p str) -> Result<Segments<'p>, WireError> {
        let mut segments = Segments::new(path)?;
        for expected in self.0.split('/').skip(1) {
            if segments.next()?.as_deref() != Some(expected) {
                return Err(WireError::not_found());
            }
        }
        Ok(segments)
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

/// A text is not a base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BasePathError {
    /// It does not begin with a slash.
    NoSlash,
    /// A segment is empty, `.` or `..`.
    Segment(String),
    /// A character must be escaped in URLs.
    Character(char),
}

impl fmt::Display for BasePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSlash => f.write_str("a base path must begin with '/', such as '/mesh'"),
            Self::Segment(segment) if segment.is_empty() => {
                f.write_str("a base path must not have empty segments; write one '/' between two names")
            }
            Self::Segment(segment) => write!(f, "a base path must not have the segment '{segment}'"),
            Self::Character(character) => {
                write!(f, "a base path must not have the character '{}'", character.escape_default())
            }
        }
    }
}

impl std::error::Error for BasePathError {}
