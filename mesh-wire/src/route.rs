//! Where does a request go? Method and path, against the base path, as one of a few routes. `SPEC §2.1`

use std::borrow::Cow;
use std::fmt;

use http::Method;

use crate::{WireError, percent};

/// What a request is for. One variant for each kind of route that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route<'p> {
    /// `GET` or `HEAD {base}/:entity`.
    Collection {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
    },
    /// `GET`, `HEAD` or `PUT {base}/:entity/:id`.
    Point {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
    },
    /// `POST {base}`.
    Post,
    /// `OPTIONS` on any known path.
    Options {
        /// The methods of that path.
        allow: Allow,
    },
}

impl<'p> Route<'p> {
    /// The route of a method and an undecoded path (without the URL's query).
    ///
    /// Refuses a segment that has no text with 400, an unknown path with 404, and a method that the path
    /// does not take, or takes only in a profile that is off, with 405.
    pub fn parse(base: &Base, method: &Method, path: &'p str) -> Result<Self, WireError> {
        let place = Place::find(base, path)?;
        let allow = place.allow();
        if *method == Method::OPTIONS {
            return Ok(Self::Options { allow });
        }
        if !allow.contains(method) {
            return Err(WireError::method_not_allowed(method, allow));
        }
        match place {
            Place::Base => Ok(Self::Post),
            Place::Collection(entity) => Ok(Self::Collection { entity }),
            Place::Point(entity, id) => Ok(Self::Point { entity, id }),
            Place::Off => Err(WireError::method_not_allowed(method, allow)),
        }
    }
}

/// The kinds of known paths, before the method is looked at.
enum Place<'p> {
    Base,
    Collection(Cow<'p, str>),
    Point(Cow<'p, str>, Cow<'p, str>),
    /// A path that only profiles which are off have routes for.
    Off,
}

impl<'p> Place<'p> {
    fn find(base: &Base, path: &'p str) -> Result<Self, WireError> {
        let mut segments = Segments::new(path)?;
        for expected in base.segments() {
            if segments.next()?.as_deref() != Some(expected) {
                return Err(WireError::not_found());
            }
        }
        let Some(entity) = segments.next()? else { return Ok(Self::Base) };
        let (id, member, child) = (segments.next()?, segments.next()?, segments.next()?);
        if segments.next()?.is_some() {
            return Err(WireError::not_found());
        }
        // A reserved key names no entity, so its paths never read; compared decoded, so that no spelling
        // of them slips through. `SPEC §2.2`
        match (entity.as_ref(), id, member, child) {
            ("queries" | "auth" | "logout", None, ..) => Ok(Self::Off),
            ("files", Some(hash), Some(_), Some(_)) if hash == "sha256" => Ok(Self::Off),
            ("queries" | "auth" | "logout" | "write" | "files", ..) => Err(WireError::not_found()),
            (_, None, ..) => Ok(Self::Collection(entity)),
            (_, Some(id), None, _) => Ok(Self::Point(entity, id)),
            (_, _, Some(member), None) if member == "events" => Err(WireError::not_found()),
            (_, Some(_), Some(_), _) => Ok(Self::Off),
        }
    }

    fn allow(&self) -> Allow {
        match self {
            Self::Base => Allow(Allow::POST),
            Self::Collection(_) => Allow(Allow::GET | Allow::HEAD),
            Self::Point(..) => Allow(Allow::GET | Allow::HEAD | Allow::PUT),
            Self::Off => Allow(0),
        }
    }
}

/// The decoded segments of a path, in turn.
struct Segments<'p> {
    rest: Option<&'p str>,
    taken: usize,
}

impl<'p> Segments<'p> {
    fn new(path: &'p str) -> Result<Self, WireError> {
        let inner = path.strip_prefix('/').ok_or_else(WireError::not_found)?;
        let rest = (!inner.is_empty()).then(|| inner.strip_suffix('/').unwrap_or(inner));
        Ok(Self { rest, taken: 0 })
    }

    fn next(&mut self) -> Result<Option<Cow<'p, str>>, WireError> {
        let Some(rest) = self.rest else { return Ok(None) };
        let (segment, rest) = match rest.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        self.taken += 1;
        if segment.is_empty() {
            return Err(WireError::not_found());
        }
        percent::decode(segment).map(Some).map_err(|percent::Undecodable(why)| {
            WireError::transport(format!("Segment {} of the path cannot be decoded: {why}", self.taken))
        })
    }
}

/// The methods that a path takes. `OPTIONS` is always one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allow(u8);

impl Allow {
    const GET: u8 = 1;
    const HEAD: u8 = 1 << 1;
    const POST: u8 = 1 << 2;
    const PUT: u8 = 1 << 3;

    fn listed() -> [(u8, Method); 4] {
        [
            (Self::GET, Method::GET),
            (Self::HEAD, Method::HEAD),
            (Self::POST, Method::POST),
            (Self::PUT, Method::PUT),
        ]
    }

    /// Whether the path takes that method.
    pub fn contains(self, method: &Method) -> bool {
        *method == Method::OPTIONS
            || Self::listed().iter().any(|(bit, one)| self.0 & bit != 0 && one == method)
    }
}

/// The value of the `Allow` header.
impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, method) in Self::listed() {
            if self.0 & bit != 0 {
                write!(f, "{method}, ")?;
            }
        }
        f.write_str("OPTIONS")
    }
}

/// The path that all routes lie under: empty, or segments that each begin with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base(String);

impl Base {
    /// Reads a base path as configured: `""` and `"/"` are the root, a trailing slash means nothing.
    pub fn parse(text: &str) -> Result<Self, BaseError> {
        let path = text.strip_suffix('/').unwrap_or(text);
        if path.is_empty() {
            return Ok(Self(String::new()));
        }
        let Some(inner) = path.strip_prefix('/') else { return Err(BaseError::NoSlash) };
        for segment in inner.split('/') {
            if matches!(segment, "" | "." | "..") {
                return Err(BaseError::Segment(segment.to_owned()));
            }
            let plain = |c: &char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(*c);
            if let Some(character) = segment.chars().find(|c| !plain(c)) {
                return Err(BaseError::Character(character));
            }
        }
        Ok(Self(path.to_owned()))
    }

    /// The normal form: empty for the root, else without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').skip(1)
    }
}

/// `/mesh`.
impl Default for Base {
    fn default() -> Self {
        Self("/mesh".to_owned())
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is no base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseError {
    /// It does not begin with a slash.
    NoSlash,
    /// A segment that is empty or a dot segment.
    Segment(String),
    /// A character that would have to be encoded in a URL.
    Character(char),
}

impl fmt::Display for BaseError {
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

impl std::error::Error for BaseError {}

#[cfg(test)]
mod tests;
