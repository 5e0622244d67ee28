//! Splitting and decoding of the segments of a path.

use std::borrow::Cow;

use super::percent;
use crate::WireError;

/// A cursor over the segments of an undecoded path.
pub(super) struct Segments<'p> {
    rest: Option<&'p str>,
    /// How many segments have been returned.
    count: usize,
}

impl<'p> Segments<'p> {
    /// Starts at the first segment. One trailing slash is ignored.
    pub(super) fn new(path: &'p str) -> Result<Self, WireError> {
        let inner = path.strip_prefix('/').ok_or_else(WireError::not_found)?;
        let rest = (!inner.is_empty()).then(|| inner.strip_suffix('/').unwrap_or(inner));
        Ok(Self { rest, count: 0 })
    }

    /// Decodes the next segment. Refuses an empty one with 404, and one that cannot be decoded with 400.
    pub(super) fn next(&mut self) -> Result<Option<Cow<'p, str>>, WireError> {
        let Some(rest) = self.rest else { return Ok(None) };
        let (segment, rest) = match rest.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        self.count += 1;
        if segment.is_empty() {
            return Err(WireError::not_found());
        }
        percent::decode(segment).map(Some).map_err(|percent::Undecodable(why)| {
            WireError::transport(format!("Segment {} of the path cannot be decoded: {why}", self.count))
        })
    }
}
