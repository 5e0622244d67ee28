//! Later pages of a query share the plan of its text without the cursor.

use std::sync::Arc;

use mesh_ql::{Format, Query};

use super::Request;
use crate::plan::PlannedQuery;
use crate::plan::cursor::UnverifiedCursor;
use crate::planner::{self, Kind};
use crate::{Limits, QuerySource, Value};

/// A query text split around its presumed cursor, which is not yet verified.
pub(super) struct Later<'a> {
    before: &'a str,
    cursor: &'a str,
    behind: &'a str,
    sealed: UnverifiedCursor,
}

impl<'a> Later<'a> {
    /// Finds the last `"after": "…"` in the text of a list's query. The format ql has no pages.
    pub(super) fn of(request: &Request<'a>, limits: &Limits) -> Option<Self> {
        let QuerySource::Text { format: Format::Json, text } = request.query else { return None };
        if request.kind() != Kind::Collection || text.len() > limits.query.query_bytes {
            return None;
        }
        let blank = |c| matches!(c, ' ' | '\t' | '\n' | '\r');
        let key = text.rfind("\"after\"")?;
        let (_, rest) = text.split_at_checked(key + "\"after\"".len())?;
        let rest = rest.trim_start_matches(blank).strip_prefix(':')?;
        let rest = rest.trim_start_matches(blank).strip_prefix('"')?;
        let end = rest.bytes().position(|byte| !is_of_cursor(byte))?;
        let (cursor, behind) = rest.split_at_checked(end)?;
        let before = text.get(..text.len() - rest.len())?;
        if !behind.starts_with('"') {
            return None;
        }
        Some(Self { before, cursor, behind, sealed: UnverifiedCursor::read(cursor)? })
    }

    /// The key of the plan: what stands before and behind the cursor, and which of its values are NULL. No text of a
    /// query that was planned has a NUL in it, so nothing else has the same key.
    pub(super) fn key(&self, class: &str) -> String {
        let values = self.sealed.values();
        let length = class.len() + self.before.len() + self.behind.len() + values.len() + 3;
        let mut key = String::with_capacity(length);
        key.push_str(class);
        key.push('a');
        key.extend(values.iter().map(|value| if *value == Value::Null { '0' } else { '1' }));
        for part in [self.before, self.behind] {
            key.push('\0');
            key.push_str(part);
        }
        key
    }

    /// Whether it is the cursor: the text with another one in its place is the same query but for that.
    pub(super) fn is_the_cursor(&self, limits: &Limits) -> bool {
        let query = |cursor: &str| {
            let text = format!("{}{cursor}{}", self.before, self.behind);
            let mut query = mesh_ql::parse(Format::Json, &text, &limits.query).ok()?;
            let found = query.root.controls.page.as_mut()?.after.take()?;
            (found == cursor).then_some(query)
        };
        // Too short for a cursor, and so another one.
        let (this, other): (Option<Query>, _) = (query(self.cursor), query("A"));
        this.is_some() && this == other
    }

    /// The values of the cursor, if it is one of that plan's.
    pub(super) fn open(self, root: &PlannedQuery) -> Option<Arc<[Value]>> {
        let node = &root.node;
        let values = root.seal.open(self.sealed, node.order.len())?;
        Some(planner::typed(&node.columns, &node.order, values))
    }
}

/// Whether a cursor may have it, none of which means anything else to JSON.
fn is_of_cursor(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests;
