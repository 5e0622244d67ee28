//! Routing of a method and a path. `SPEC §2.1`

mod allowed_methods;
mod base_path;
mod path;
pub(crate) mod percent;
#[cfg(feature = "plan")]
mod write_target;

use std::borrow::Cow;

use http::Method;

use crate::WireError;

pub use allowed_methods::AllowedMethods;
pub use base_path::{BasePath, BasePathError};
use path::PathKind;

/// The profiles that a server offers, which determine its routes other than reads. None by default. `SPEC §1`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles {
    /// Login and logout.
    pub integrity: bool,
    /// Registration of queries.
    pub persisted: bool,
    /// File uploads and downloads.
    pub uploads: bool,
    /// Event streams.
    pub events: bool,
    /// Write routes, and batches of them.
    pub mutations: bool,
    /// The first segment of the paths of stored files. `SPEC §9.7`
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

/// The route of a request. A server offers the routes of its [`Profiles`]. Entity keys and refs of relations are
/// decoded. Ids are valid path segments that are not decoded yet, because ids of several fields must be split at their
/// commas first. `SPEC §15`
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are described above")]
pub enum Route<'p> {
    /// `GET` or `HEAD {base}/:entity`.
    Collection { entity: Cow<'p, str> },
    /// `GET`, `HEAD` or, without write routes, `PUT {base}/:entity/:id`.
    Point { entity: Cow<'p, str>, id: &'p str },
    /// `POST {base}`.
    Post,
    /// `POST {base}/queries`.
    Register,
    /// `POST {base}/batch`.
    Batch,
    /// `POST {base}/auth`.
    Login,
    /// `POST {base}/logout`.
    Logout,
    /// `GET` or `HEAD {base}/:entity/:id/events`.
    Events { entity: Cow<'p, str>, id: &'p str },
    /// `GET` or `HEAD {base}/files/sha256/:hex/:hex`. The key is the part of the path after the files segment: storage keys
    /// have the form `sha256/<2 digits>/<62 digits>`.
    File { key: String },
    /// `POST {base}/:entity`: creates a record from JSON, or from a file sent as `multipart/form-data`.
    Create { entity: Cow<'p, str> },
    /// `PUT {base}/:entity/:id` on a server with write routes. Without a body it is a point read.
    Update { entity: Cow<'p, str>, id: &'p str },
    /// `DELETE {base}/:entity/:id`.
    Delete { entity: Cow<'p, str>, id: &'p str },
    /// `POST {base}/:entity/:id/:member`: creates a child or a link from JSON, or stores a file sent as
    /// `multipart/form-data`. The member is a relation, or the field that takes the file.
    Attach { entity: Cow<'p, str>, id: &'p str, member: Cow<'p, str> },
    /// `PUT {base}/:entity/:id/:relation`.
    Connect { entity: Cow<'p, str>, id: &'p str, relation: Cow<'p, str> },
    /// `DELETE {base}/:entity/:id/:relation`.
    Disconnect { entity: Cow<'p, str>, id: &'p str, relation: Cow<'p, str> },
    /// `DELETE {base}/:entity/:id/:relation/:childId`.
    Remove { entity: Cow<'p, str>, id: &'p str, relation: Cow<'p, str>, child: &'p str },
    /// `OPTIONS` on any known path, with the methods that the path allows.
    Options { allow: AllowedMethods },
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
        if !allow.allows(method) {
            return Err(WireError::method_not_allowed(method, allow));
        }
        Ok(match kind {
            PathKind::Base => Self::Post,
            PathKind::Queries => Self::Register,
            PathKind::Batch => Self::Batch,
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
}

#[cfg(test)]
mod tests;
