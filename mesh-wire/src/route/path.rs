//! The kinds of paths, before the method is considered, and the methods that each allows. `SPEC §2.1`

use std::borrow::Cow;

use super::Profiles;
use super::allowed_methods::AllowedMethods;
use super::base_path::{BasePath, Segment};
use crate::WireError;

/// The kind of a known path, with its segments. All segments except ids are decoded.
pub(super) enum PathKind<'p> {
    Base,
    Queries,
    Batch,
    Auth,
    Logout,
    File(String),
    Collection(Cow<'p, str>),
    Point(Cow<'p, str>, &'p str),
    Events(Cow<'p, str>, &'p str),
    Member(Cow<'p, str>, &'p str, Cow<'p, str>),
    Child(Cow<'p, str>, &'p str, Cow<'p, str>, &'p str),
}

impl<'p> PathKind<'p> {
    /// Parses an undecoded path. Refuses a segment that cannot be decoded with 400, and an unknown path with 404.
    pub(super) fn parse(base: &BasePath, profiles: &Profiles, path: &'p str) -> Result<Self, WireError> {
        let mut segments = base.strip(path)?;
        let Some(Segment { text: entity, .. }) = segments.next()? else { return Ok(Self::Base) };
        let (id, member, child) = (segments.next()?, segments.next()?, segments.next()?);
        if segments.next()?.is_some() {
            return Err(WireError::no_route(base));
        }
        // Reserved keys are not entities. The decoded segment is compared, so that escapes make no difference. `SPEC §2.2`
        match (entity.as_ref(), id, member, child) {
            ("queries", None, ..) => Ok(Self::Queries),
            ("batch", None, ..) => Ok(Self::Batch),
            ("auth", None, ..) => Ok(Self::Auth),
            ("logout", None, ..) => Ok(Self::Logout),
            (files, Some(hash), Some(head), Some(rest))
                if files == profiles.files && hash.text == "sha256" =>
            {
                Ok(Self::File(format!("{}/{}/{}", hash.text, head.text, rest.text)))
            }
            ("queries" | "auth" | "logout" | "write" | "files" | "batch", ..) => {
                Err(WireError::no_route(base))
            }
            (_, None, ..) => Ok(Self::Collection(entity)),
            (_, Some(id), None, _) => Ok(Self::Point(entity, id.raw)),
            (_, Some(id), Some(member), None) if member.text == "events" => match profiles.events {
                true => Ok(Self::Events(entity, id.raw)),
                false => Err(WireError::no_route(base)),
            },
            (_, Some(id), Some(member), None) => Ok(Self::Member(entity, id.raw, member.text)),
            (_, Some(id), Some(member), Some(child)) => {
                Ok(Self::Child(entity, id.raw, member.text, child.raw))
            }
        }
    }

    /// Returns the methods that the path allows with these profiles.
    pub(super) fn allowed_methods(&self, profiles: &Profiles) -> AllowedMethods {
        let &Profiles { integrity, persisted, uploads, events, mutations, .. } = profiles;
        let when = |on: bool, methods| if on { methods } else { AllowedMethods::empty() };
        let read = AllowedMethods::GET | AllowedMethods::HEAD;
        match self {
            Self::Base => AllowedMethods::POST,
            Self::Queries => when(persisted, AllowedMethods::POST),
            Self::Batch => AllowedMethods::POST,
            Self::Auth | Self::Logout => when(integrity, AllowedMethods::POST),
            Self::File(_) => when(uploads, read),
            Self::Collection(_) => read | when(uploads || mutations, AllowedMethods::POST),
            Self::Point(..) => read | AllowedMethods::PUT | when(mutations, AllowedMethods::DELETE),
            Self::Events(..) => when(events, read),
            Self::Member(..) => {
                when(uploads || mutations, AllowedMethods::POST)
                    | when(mutations, AllowedMethods::PUT | AllowedMethods::DELETE)
            }
            Self::Child(..) => when(mutations, AllowedMethods::DELETE),
        }
    }
}
