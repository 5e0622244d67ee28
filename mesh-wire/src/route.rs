//! Where does a request go? Method and path, against the base path, as one of a few routes. `SPEC §2.1`

use std::borrow::Cow;
use std::fmt;

use http::Method;

use crate::{WireError, percent};

/// What a request is for. One variant for each kind of route that there is; which of them a server offers
/// is a matter of its [`Profiles`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route<'p> {
    /// `GET` or `HEAD {base}/:entity`.
    Collection {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
    },
    /// `GET`, `HEAD` or, without write routes, `PUT {base}/:entity/:id`.
    Point {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
    },
    /// `POST {base}`.
    Post,
    /// `POST {base}/queries`.
    Register,
    /// `POST {base}/auth`.
    Login,
    /// `POST {base}/logout`.
    Logout,
    /// `GET` or `HEAD {base}/:entity/:id/events`.
    Events {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
    },
    /// `GET` or `HEAD {base}/files/sha256/:hex/:hex`.
    File {
        /// The storage key, `sha256/<2 digits>/<62 digits>` where it is one.
        key: String,
    },
    /// `POST {base}/:entity`: a record from JSON, or with `multipart/form-data` from a file.
    Create {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
    },
    /// `PUT {base}/:entity/:id` where there are write routes. Without a body it is still a point read.
    Update {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
    },
    /// `DELETE {base}/:entity/:id`.
    Delete {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
    },
    /// `POST {base}/:entity/:id/:member`: a child or a link from JSON, or with `multipart/form-data` a file.
    Attach {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
        /// A relation's ref, or the field that takes the file, decoded.
        member: Cow<'p, str>,
    },
    /// `PUT {base}/:entity/:id/:relation`.
    Connect {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
        /// The relation's ref, decoded.
        relation: Cow<'p, str>,
    },
    /// `DELETE {base}/:entity/:id/:relation`.
    Disconnect {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
        /// The relation's ref, decoded.
        relation: Cow<'p, str>,
    },
    /// `DELETE {base}/:entity/:id/:relation/:childId`.
    Remove {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
        /// The relation's ref, decoded.
        relation: Cow<'p, str>,
        /// The child's id, decoded.
        child: Cow<'p, str>,
    },
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
    pub fn parse(
        base: &Base,
        profiles: &Profiles,
        method: &Method,
        path: &'p str,
    ) -> Result<Self, WireError> {
        let place = Place::find(base, profiles, path)?;
        let allow = place.allow(profiles);
        if *method == Method::OPTIONS {
            return Ok(Self::Options { allow });
        }
        if !allow.contains(method) {
            return Err(WireError::method_not_allowed(method, allow));
        }
        Ok(match place {
            Place::Base => Self::Post,
            Place::Queries => Self::Register,
            Place::Auth => Self::Login,
            Place::Logout => Self::Logout,
            Place::File(key) => Self::File { key },
            Place::Collection(entity) if *method == Method::POST => Self::Create { entity },
            Place::Collection(entity) => Self::Collection { entity },
            Place::Point(entity, id) if *method == Method::DELETE => Self::Delete { entity, id },
            Place::Point(entity, id) if *method == Method::PUT && profiles.mutations => {
                Self::Update { entity, id }
            }
            Place::Point(entity, id) => Self::Point { entity, id },
            Place::Events(entity, id) => Self::Events { entity, id },
            Place::Member(entity, id, member) if *method == Method::POST => {
                Self::Attach { entity, id, member }
            }
            Place::Member(entity, id, relation) if *method == Method::PUT => {
                Self::Connect { entity, id, relation }
            }
            Place::Member(entity, id, relation) => Self::Disconnect { entity, id, relation },
            Place::Child(entity, id, relation, child) => Self::Remove { entity, id, relation, child },
        })
    }

    /// The methods of a path, or `None` where nothing is.
    pub fn methods(base: &Base, profiles: &Profiles, path: &str) -> Option<Allow> {
        Place::find(base, profiles, path).ok().map(|place| place.allow(profiles))
    }

    /// Every kind of path under the base with the methods that it takes, `OPTIONS` left out.
    pub fn table(profiles: &Profiles) -> Vec<(&'static str, Allow)> {
        let (entity, id, member) = (":entity".into(), ":id".into(), ":relation".into());
        let (child, file) = (":childId".into(), ":key".to_owned());
        let places: [(&str, Place<'_>); 10] = [
            ("", Place::Base),
            ("queries", Place::Queries),
            ("auth", Place::Auth),
            ("logout", Place::Logout),
            ("files/:key", Place::File(file)),
            (":entity", Place::Collection(Cow::clone(&entity))),
            (":entity/:id", Place::Point(Cow::clone(&entity), Cow::clone(&id))),
            (":entity/:id/events", Place::Events(Cow::clone(&entity), Cow::clone(&id))),
            (
                ":entity/:id/:relation",
                Place::Member(Cow::clone(&entity), Cow::clone(&id), Cow::clone(&member)),
            ),
            (":entity/:id/:relation/:childId", Place::Child(entity, id, member, child)),
        ];
        let known = places.into_iter().map(|(pattern, place)| (pattern, place.allow(profiles)));
        known.filter(|(_, allow)| allow.0 != 0).collect()
    }
}

/// Which profiles a server offers, and so which routes it has beside the reads. By default none. `SPEC §1`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles {
    /// Login and logout.
    pub integrity: bool,
    /// Registration of queries.
    pub persisted: bool,
    /// Multipart routes and stored files.
    pub uploads: bool,
    /// Streams of changes.
    pub events: bool,
    /// Write routes.
    pub mutations: bool,
    /// The segment under the base that stored files are served at. `SPEC §9.7`
    pub files: Cow<'static, str>,
}

impl Default for Profiles {
    fn default() -> Self {
        Self {
            integrity: false,
            persisted: false,
            uploads: false,
            events: false,
            mutations: false,
            files: Cow::Borrowed("files"),
        }
    }
}

/// The kinds of known paths, before the method is looked at.
enum Place<'p> {
    Base,
    Queries,
    Auth,
    Logout,
    File(String),
    Collection(Cow<'p, str>),
    Point(Cow<'p, str>, Cow<'p, str>),
    Events(Cow<'p, str>, Cow<'p, str>),
    Member(Cow<'p, str>, Cow<'p, str>, Cow<'p, str>),
    Child(Cow<'p, str>, Cow<'p, str>, Cow<'p, str>, Cow<'p, str>),
}

impl<'p> Place<'p> {
    fn find(base: &Base, profiles: &Profiles, path: &'p str) -> Result<Self, WireError> {
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
            ("queries", None, ..) => Ok(Self::Queries),
            ("auth", None, ..) => Ok(Self::Auth),
            ("logout", None, ..) => Ok(Self::Logout),
            (files, Some(hash), Some(head), Some(rest)) if files == profiles.files && hash == "sha256" => {
                Ok(Self::File(format!("{hash}/{head}/{rest}")))
            }
            ("queries" | "auth" | "logout" | "write" | "files", ..) => Err(WireError::not_found()),
            (_, None, ..) => Ok(Self::Collection(entity)),
            (_, Some(id), None, _) => Ok(Self::Point(entity, id)),
            (_, Some(id), Some(member), None) if member == "events" => match profiles.events {
                true => Ok(Self::Events(entity, id)),
                false => Err(WireError::not_found()),
            },
            (_, Some(id), Some(member), None) => Ok(Self::Member(entity, id, member)),
            (_, Some(id), Some(member), Some(child)) => Ok(Self::Child(entity, id, member, child)),
        }
    }

    fn allow(&self, profiles: &Profiles) -> Allow {
        let &Profiles { integrity, persisted, uploads, events, mutations, .. } = profiles;
        let when = |on: bool, methods: u8| if on { methods } else { 0 };
        let read = Allow::GET | Allow::HEAD;
        Allow(match self {
            Self::Base => Allow::POST,
            Self::Queries => when(persisted, Allow::POST),
            Self::Auth | Self::Logout => when(integrity, Allow::POST),
            Self::File(_) => when(uploads, read),
            Self::Collection(_) => read | when(uploads || mutations, Allow::POST),
            Self::Point(..) => read | Allow::PUT | when(mutations, Allow::DELETE),
            Self::Events(..) => when(events, read),
            Self::Member(..) => {
                when(uploads || mutations, Allow::POST) | when(mutations, Allow::PUT | Allow::DELETE)
            }
            Self::Child(..) => when(mutations, Allow::DELETE),
        })
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
        // Segments are short, so this is faster than a search that is made for long texts.
        let (segment, rest) = match rest.bytes().position(|byte| byte == b'/') {
            Some(place) => (rest.get(..place).unwrap_or_default(), rest.get(place + 1..)),
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
    const PATCH: u8 = 1 << 4;
    const DELETE: u8 = 1 << 5;

    fn listed() -> [(u8, Method); 6] {
        [
            (Self::GET, Method::GET),
            (Self::HEAD, Method::HEAD),
            (Self::POST, Method::POST),
            (Self::PUT, Method::PUT),
            (Self::PATCH, Method::PATCH),
            (Self::DELETE, Method::DELETE),
        ]
    }

    /// No methods but those of the list that a path may take. An application adds those of its own routes.
    pub fn of(methods: &[Method]) -> Self {
        let bits = Self::listed().into_iter().filter(|(_, method)| methods.contains(method));
        Self(bits.fold(0, |all, (bit, _)| all | bit))
    }

    /// The methods of either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The methods, `OPTIONS` left out.
    pub fn methods(self) -> impl Iterator<Item = Method> {
        Self::listed().into_iter().filter(move |(bit, _)| self.0 & bit != 0).map(|(_, method)| method)
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
