//! Path patterns such as `post/:id`: literal segments and parameters.

use std::fmt;

/// The segments of a path under the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    Parameter(String),
}

/// The error of a malformed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// The pattern, or one of its segments, is empty.
    EmptySegment(String),
    /// A colon has no name, or a name is repeated.
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
    /// Parses a pattern. A slash at either end is ignored.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let inner = text.strip_prefix('/').unwrap_or(text);
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        let mut segments = Vec::new();
        for segment in inner.split('/') {
            let segment = match segment.strip_prefix(':') {
                _ if segment.is_empty() => return Err(PatternError::EmptySegment(text.to_owned())),
                Some(name) => Segment::Parameter(name.to_owned()),
                None => Segment::Text(segment.to_owned()),
            };
            let is_name = matches!(segment, Segment::Parameter(_));
            if segment == Segment::Parameter(String::new()) || (is_name && segments.contains(&segment)) {
                return Err(PatternError::Name(text.to_owned()));
            }
            segments.push(segment);
        }
        Ok(Self(segments))
    }

    /// Returns whether the pattern consists of this segment only.
    #[cfg(feature = "mcp")]
    pub(crate) fn is_single_segment(&self, segment: &str) -> bool {
        matches!(self.0.as_slice(), [Segment::Text(text)] if text == segment)
    }

    /// Returns the values of the parameters if the decoded segments of a path match.
    pub(crate) fn matches(&self, path: &[&str]) -> Option<Vec<(String, String)>> {
        if path.len() != self.0.len() {
            return None;
        }
        let mut values = Vec::new();
        for (segment, actual) in self.0.iter().zip(path) {
            match segment {
                Segment::Text(text) if text == actual => {}
                Segment::Text(_) => return None,
                Segment::Parameter(name) => values.push((name.clone(), (*actual).to_owned())),
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
                Segment::Parameter(name) => write!(f, "/:{name}")?,
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
