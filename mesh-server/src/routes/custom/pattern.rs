//! Which paths does a route of the application take? `post/:id`: segments as they are, and names for others.

use std::fmt;

/// The segments of a route's path under the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    Name(String),
}

/// Why a text is no pattern of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// It has an empty segment, or is empty as a whole.
    EmptySegment(String),
    /// It has a colon without a name, or a name twice.
    Name(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptySegment(pattern) => write!(
                f,
                "the route '{pattern}' has an empty segment; write it as in 'post/:id', without the base path"
            ),
            Self::Name(pattern) => {
                write!(f, "each ':' in the route '{pattern}' needs a name of its own, as in 'post/:id'")
            }
        }
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// Reads a pattern; slashes at both ends mean nothing.
    pub(super) fn parse(text: &str) -> Result<Self, PatternError> {
        let inner = text.strip_prefix('/').unwrap_or(text);
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        let mut segments = Vec::new();
        for segment in inner.split('/') {
            let segment = match segment.strip_prefix(':') {
                _ if segment.is_empty() => return Err(PatternError::EmptySegment(text.to_owned())),
                Some(name) => Segment::Name(name.to_owned()),
                None => Segment::Text(segment.to_owned()),
            };
            let is_name = matches!(segment, Segment::Name(_));
            if segment == Segment::Name(String::new()) || (is_name && segments.contains(&segment)) {
                return Err(PatternError::Name(text.to_owned()));
            }
            segments.push(segment);
        }
        Ok(Self(segments))
    }

    /// The values of the names, where the decoded segments of a path fit.
    pub(super) fn matches(&self, path: &[&str]) -> Option<Vec<(String, String)>> {
        if path.len() != self.0.len() {
            return None;
        }
        let mut values = Vec::new();
        for (segment, given) in self.0.iter().zip(path) {
            match segment {
                Segment::Text(text) if text == given => {}
                Segment::Text(_) => return None,
                Segment::Name(name) => values.push((name.clone(), (*given).to_owned())),
            }
        }
        Some(values)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            match segment {
                Segment::Text(text) => write!(f, "/{text}")?,
                Segment::Name(name) => write!(f, "/:{name}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_take_paths() {
        let pattern = Pattern::parse("/post/:id/").unwrap();
        assert_eq!(pattern, Pattern::parse("post/:id").unwrap());
        assert_eq!(pattern.matches(&["post", "7"]), Some(vec![("id".to_owned(), "7".to_owned())]));
        for path in [&["post"][..], &["user", "7"], &["post", "7", "tags"], &[]] {
            assert_eq!(pattern.matches(path), None);
        }
        assert_eq!(pattern.to_string(), "/post/:id");
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "/", "post//x", "post/:", ":a/:a"] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }
}
