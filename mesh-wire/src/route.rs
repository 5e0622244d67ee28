//! Routing of a method and a path. `SPEC §2.1`

mod allowed_methods;
mod base_path;
mod path;
pub(crate) mod percent;
mod profiles;
mod segments;

use std::borrow::Cow;

use http::Method;

use crate::WireError;

pub use allowed_methods::AllowedMethods;
pub use base_path::{BasePath, BasePathError};
use path::PathKind;
pub use profiles::Profiles;

/// The route of a request. A server offers the routes of its [`Profiles`].
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
        /// The part of the path after the files segment. A storage key has the form `sha256/<2 digits>/<62 digits>`.
        key: String,
    },
    /// `POST {base}/:entity`: creates a record from JSON, or from a file sent as `multipart/form-data`.
    Create {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
    },
    /// `PUT {base}/:entity/:id` on a server with write routes. Without a body it is a point read.
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
    /// `POST {base}/:entity/:id/:member`: creates a child or a link from JSON, or stores a file sent as
    /// `multipart/form-data`.
    Attach {
        /// The entity key, decoded.
        entity: Cow<'p, str>,
        /// The id, decoded.
        id: Cow<'p, str>,
        /// The ref of a relation, or the field that takes the file, decoded.
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
        /// The methods that the path allows.
        allow: AllowedMethods,
    },
}

impl<'p> Route<'p> {
    /// Finds the route of a method and an undecoded path (without the URL's query).
    ///
    /// # Errors
    /// 400 if a segment cannot be decoded, 404 if the path is unknown, and 405 if the path does not allow the method with
    /// these profiles.
    pub fn parse(
        base: &BasePath,
        profiles: &Profiles,
        method: &Method,
        path: &'p str,
    ) -> Result<Self, WireError> {
        let kind = PathKind::parse(base, profiles, path)?;
        let allow = kind.allowed_methods(profiles);
        if *method == Method::OPTIONS {
            return Ok(Self::Options { allow });
        }
        if !allow.contains(method) {
            return Err(WireError::method_not_allowed(method, allow));
        }
        Ok(match kind {
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

    /// Returns the methods of a path, or `None` if the path is unknown.
    pub fn methods(base: &BasePath, profiles: &Profiles, path: &str) -> Option<AllowedMethods> {
        PathKind::parse(base, profiles, path).ok().map(|kind| kind.allowed_methods(profiles))
    }

    /// Lists the patterns of all paths under the base, with the methods that they allow, without `OPTIONS`.
    pub fn table(profiles: &Profiles) -> Vec<(&'static str, AllowedMethods)> {
        let (entity, id, member) = (":entity".into(), ":id".into(), ":relation".into());
        let (child, file) = (":childId".into(), ":key".to_owned());
        let kinds: [(&str, PathKind<'_>); 10] = [
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
        let rows = kinds.into_iter().map(|(pattern, kind)| (pattern, kind.allowed_methods(profiles)));
        rows.filter(|(_, allow)| !allow.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests;
