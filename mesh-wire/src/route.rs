//! Routing of a method and a path. `SPEC §2.1`

mod allowed_methods;
mod base_path;
mod path;

use std::borrow::Cow;

use http::Method;

use crate::WireError;

pub use allowed_methods::AllowedMethods;
pub use base_path::{BasePath, BasePathError};
use path::PathKind;

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
        allow: AllowedMethods,
    },
}

impl<'p> Route<'p> {
    /// The route of a method and an undecoded path (without the URL's query).
    ///
    /// Refuses a segment that has no text with 400, an unknown path with 404, and a method that the path
    /// does not take, or takes only in a profile that is off, with 405.
    pub fn parse(
        base: &BasePath,
        profiles: &Profiles,
        method: &Method,
        path: &'p str,
    ) -> Result<Self, WireError> {
        let place = PathKind::find(base, profiles, path)?;
        let allow = place.allow(profiles);
        if *method == Method::OPTIONS {
            return Ok(Self::Options { allow });
        }
        if !allow.contains(method) {
            return Err(WireError::method_not_allowed(method, allow));
        }
        Ok(match place {
            PathKind::Base => Self::Post,
            PathKind::Queries => Self::Register,
            PathKind::Auth => Self::Login,
            PathKind::Logout => Self::Logout,
            PathKind::File(key) => Self::File { key },
            PathKind::Collection(entity) if *method == Method::POST => Self::Create { entity },
            PathKind::Collection(entity) => Self::Collection { entity },
            PathKind::Point(entity, id) if *method == Method::DELETE => Self::Delete { entity, id },
            PathKind::Point(entity, id) if *method == Method::PUT && profiles.mutations => {
                Self::Update { entity, id }
            }
            PathKind::Point(entity, id) => Self::Point { entity, id },
            PathKind::Events(entity, id) => Self::Events { entity, id },
            PathKind::Member(entity, id, member) if *method == Method::POST => {
                Self::Attach { entity, id, member }
            }
            PathKind::Member(entity, id, relation) if *method == Method::PUT => {
                Self::Connect { entity, id, relation }
            }
            PathKind::Member(entity, id, relation) => Self::Disconnect { entity, id, relation },
            PathKind::Child(entity, id, relation, child) => Self::Remove { entity, id, relation, child },
        })
    }

    /// The methods of a path, or `None` where nothing is.
    pub fn methods(base: &BasePath, profiles: &Profiles, path: &str) -> Option<AllowedMethods> {
        PathKind::find(base, profiles, path).ok().map(|place| place.allow(profiles))
    }

    /// Every kind of path under the base with the methods that it takes, `OPTIONS` left out.
    pub fn table(profiles: &Profiles) -> Vec<(&'static str, AllowedMethods)> {
        let (entity, id, member) = (":entity".into(), ":id".into(), ":relation".into());
        let (child, file) = (":childId".into(), ":key".to_owned());
        let places: [(&str, PathKind<'_>); 10] = [
            ("", PathKind::Base),
            ("queries", PathKind::Queries),
            ("auth", PathKind::Auth),
            ("logout", PathKind::Logout),
            ("files/:key", PathKind::File(file)),
            (":entity", PathKind::Collection(Cow::clone(&entity))),
            (":entity/:id", PathKind::Point(Cow::clone(&entity), Cow::clone(&id))),
            (":entity/:id/events", PathKind::Events(Cow::clone(&entity), Cow::clone(&id))),
            (
                ":entity/:id/:relation",
                PathKind::Member(Cow::clone(&entity), Cow::clone(&id), Cow::clone(&member)),
            ),
            (":entity/:id/:relation/:childId", PathKind::Child(entity, id, member, child)),
        ];
        let known = places.into_iter().map(|(pattern, place)| (pattern, place.allow(profiles)));
        known.filter(|(_, allow)| !allow.is_empty()).collect()
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

#[cfg(test)]
mod tests;
