//! Kinds of paths, before the method is considered, and the methods that each allows.
//! `SPEC §2.1`

use std::borrow::Cow;

use super::{AllowedMethods, BasePath, Profiles};
use crate::{WireError, percent};

/// The kinds of known paths, before the method is looked at.
pub(super) enum PathKind<'p> {
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

impl<'p> PathKind<'p> {
    pub(super) fn find(base: &BasePath, profiles: &Profiles, path: &'p str) -> Result<Self, WireError> {
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

    pub(super) fn allow(&self, profiles: &Profiles) -> AllowedMethods {
        let &Profiles { integrity, persisted, uploads, events, mutations, .. } = profiles;
        let when = |on: bool, methods: u8| if on { methods } else { 0 };
        let read = AllowedMethods::GET | AllowedMethods::HEAD;
        AllowedMethods::from_bits(match self {
            Self::Base => AllowedMethods::POST,
            Self::Queries => when(persisted, AllowedMethods::POST),
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
        })
    }
}

/// The decoded segments of a path, in turn.
pub(super) struct Segments<'p> {
    rest: Option<&'p str>,
    taken: usize,
}

impl<'p> Segments<'p> {
    pub(super) fn new(path: &'p str) -> Result<Self, WireError> {
        let inner = path.strip_prefix('/').ok_or_else(WireError::not_found)?;
        let rest = (!inner.is_empty()).then(|| inner.strip_suffix('/').unwrap_or(inner));
        Ok(Self { rest, taken: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<Cow<'p, str>>, WireError> {
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
