//! `Cache-Control` of reads. `SPEC §12.3`

use std::fmt;
use std::str::FromStr;

use http::HeaderValue;

/// The directives of a `Cache-Control` header (RFC 9111 §5.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheControl(Vec<Directive>);

/// A directive such as `max-age=60`: a name in lower case, and an argument.
type Directive = (String, Option<String>);

/// The default: caches ask the server before each use.
const NO_CACHE: &str = "no-cache";

/// Directives with a number of seconds.
const SECONDS_DIRECTIVES: [&str; 4] = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"];

/// Directives without an argument.
const FLAG_DIRECTIVES: [&str; 9] = [
    NO_CACHE,
    "no-store",
    "no-transform",
    "public",
    "private",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
    "immutable",
];

/// Directives that allow shared caches to store a reply.
const SHARED_CACHE_DIRECTIVES: [&str; 3] = ["public", "s-maxage", "proxy-revalidate"];

/// Why a text is not a `Cache-Control` value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheControlError {
    /// There is no directive.
    Empty,
    /// The directive is unknown.
    Unknown(String),
    /// The directive needs a number of seconds, as in `max-age=60`.
    NeedsSeconds(String),
    /// The directive has an argument that it does not take.
    NeedsNoArgument(String),
    /// The directive occurs twice.
    Repeated(String),
    /// The directives contradict each other.
    Contradiction(&'static str, &'static str),
}

impl fmt::Display for CacheControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it has no directive; write one such as 'no-cache' or 'max-age=60'"),
            Self::Unknown(name) => write!(
                f,
                "there is no directive '{name}'; the directives are {}, {} with seconds",
                FLAG_DIRECTIVES.join(", "),
                SECONDS_DIRECTIVES.join(", ")
            ),
            Self::NeedsSeconds(name) => write!(f, "'{name}' needs a number of seconds, as in '{name}=60'"),
            Self::NeedsNoArgument(name) => write!(f, "'{name}' takes no argument"),
            Self::Repeated(name) => write!(f, "'{name}' occurs twice"),
            Self::Contradiction(one, other) => write!(f, "'{one}' and '{other}' are mutually exclusive"),
        }
    }
}

impl std::error::Error for CacheControlError {}

impl Default for CacheControl {
    /// Returns `no-cache`: caches ask the server before each use, because any write can change the data.
    fn default() -> Self {
        Self(vec![(NO_CACHE.to_owned(), None)])
    }
}

impl FromStr for CacheControl {
    type Err = CacheControlError;

    fn from_str(text: &str) -> Result<Self, CacheControlError> {
        let mut directives: Vec<Directive> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, argument) = match part.split_once('=') {
                Some((name, argument)) => (name.to_ascii_lowercase(), Some(argument)),
                None => (part.to_ascii_lowercase(), None),
            };
            let is_seconds = |argument: &str| {
                argument.bytes().all(|byte| byte.is_ascii_digit()) && argument.parse::<u32>().is_ok()
            };
            match argument {
                _ if directives.iter().any(|(known, _)| *known == name) => {
                    return Err(CacheControlError::Repeated(name));
                }
                Some(argument) if SECONDS_DIRECTIVES.contains(&name.as_str()) && is_seconds(argument) => {}
                _ if SECONDS_DIRECTIVES.contains(&name.as_str()) => {
                    return Err(CacheControlError::NeedsSeconds(name));
                }
                None if FLAG_DIRECTIVES.contains(&name.as_str()) => {}
                Some(_) if FLAG_DIRECTIVES.contains(&name.as_str()) => {
                    return Err(CacheControlError::NeedsNoArgument(name));
                }
                _ => return Err(CacheControlError::Unknown(name)),
            }
            directives.push((name, argument.map(str::to_owned)));
        }
        let control = Self(directives);
        if control.0.is_empty() {
            return Err(CacheControlError::Empty);
        }
        for shared in SHARED_CACHE_DIRECTIVES {
            if control.has("private") && control.has(shared) {
                return Err(CacheControlError::Contradiction("private", shared));
            }
        }
        Ok(control)
    }
}

impl CacheControl {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Returns whether a directive allows shared caches to store the reply.
    pub fn is_shared(&self) -> bool {
        SHARED_CACHE_DIRECTIVES.iter().any(|name| self.has(name))
    }

    /// Returns whether a shared cache may reuse the reply without asking the server each time.
    pub fn is_reusable(&self) -> bool {
        ![NO_CACHE, "no-store", "private"].iter().any(|name| self.has(name))
    }

    /// Returns these directives for a reply that belongs to one client: shared caches must not store it.
    #[must_use]
    pub fn private(&self) -> Self {
        let rest = self
            .0
            .iter()
            .filter(|(name, _)| name != "private" && !SHARED_CACHE_DIRECTIVES.contains(&name.as_str()));
        let private = [("private".to_owned(), None)];
        Self(private.into_iter().chain(rest.cloned()).collect())
    }

    /// Returns the value of the header.
    pub fn value(&self) -> HeaderValue {
        // Copies of a constant have no reference count, to which all threads would write.
        if *self == Self::default() {
            return HeaderValue::from_static(NO_CACHE);
        }
        crate::headers::ascii(self.to_string())
    }
}

/// The directives as the header has them.
impl fmt::Display for CacheControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, argument)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name}")?;
            if let Some(argument) = argument {
                write!(f, "={argument}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, String> {
        text.parse::<CacheControl>().map(|control| control.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn directives_are_parsed() {
        assert_eq!(parse("no-cache").as_deref(), Ok("no-cache"));
        assert_eq!(parse(" Public,  MAX-AGE=60 ,").as_deref(), Ok("public, max-age=60"));
        for (text, error) in [
            ("", "it has no directive; write one such as 'no-cache' or 'max-age=60'"),
            ("max-age", "'max-age' needs a number of seconds, as in 'max-age=60'"),
            ("max-age=-1", "'max-age' needs a number of seconds, as in 'max-age=60'"),
            ("max-age=99999999999", "'max-age' needs a number of seconds, as in 'max-age=60'"),
            ("no-store=1", "'no-store' takes no argument"),
            ("max-age=1, Max-Age=2", "'max-age' occurs twice"),
            ("private, public", "'private' and 'public' are mutually exclusive"),
            ("private, s-maxage=9", "'private' and 's-maxage' are mutually exclusive"),
        ] {
            assert_eq!(parse(text), Err(error.to_owned()));
        }
        assert!(parse("no-cach").is_err_and(|error| error.starts_with("there is no directive 'no-cach'")));
        assert!(parse("no-cache\r\nset-cookie: a=b").is_err());
    }

    #[test]
    fn private_directives_allow_no_shared_cache() {
        for (text, private) in [
            ("no-cache", "private, no-cache"),
            ("public, max-age=60, s-maxage=600", "private, max-age=60"),
            ("private, max-age=5", "private, max-age=5"),
            ("no-store", "private, no-store"),
            ("public", "private"),
        ] {
            let control = text.parse::<CacheControl>().unwrap();
            assert_eq!(control.private().to_string(), private);
            assert!(!control.private().is_shared());
        }
    }
}
