//! Plans of later pages, which share the plan of their query's text without the cursor.

use std::sync::Arc;

use mesh_ql::{Format, Span};

use super::Request;
use crate::plan::cursor::UnverifiedCursor;
use crate::plan::{PlannedQuery, QuerySource};
use crate::planner;
use crate::{Limits, Value};

/// A query text split around its presumed cursor, which is not yet verified.
pub(super) struct LaterPage<'a> {
    before: &'a str,
    /// The number of bytes of the presumed cursor.
    length: usize,
    after: &'a str,
    cursor: UnverifiedCursor,
}

impl<'a> LaterPage<'a> {
    /// Splits the text of a collection read at the last `"after": "…"` or `"before": "…"`. The format ql has no pages.
    pub(super) fn from_request(request: &Request<'a>, limits: &Limits) -> Option<Self> {
        let QuerySource::Text { format: Format::Json, text } = request.query else { return None };
        if request.id.is_some() || request.is_export || text.len() > limits.query.query_bytes {
            return None;
        }
        let is_blank = |c| matches!(c, ' ' | '\t' | '\n' | '\r');
        let key = ["\"after\"", "\"before\""]
            .into_iter()
            .filter_map(|key| Some(text.rfind(key)? + key.len()))
            .max()?;
        let rest = text.get(key..)?;
        let rest = rest.trim_start_matches(is_blank).strip_prefix(':')?;
        let rest = rest.trim_start_matches(is_blank).strip_prefix('"')?;
        let before = text.strip_suffix(rest)?;
        // The characters of cursors, which have no escapes in JSON.
        let is_of_cursor = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let end = rest.bytes().position(|byte| !is_of_cursor(byte))?;
        let (text, after) = rest.split_at_checked(end)?;
        let cursor = UnverifiedCursor::parse(text).filter(|_| after.starts_with('"'))?;
        Some(Self { before, length: text.len(), after, cursor })
    }

    /// Returns the key of the plan: the text around the cursor, and which of the cursor's values are NULL. The text of a
    /// query contains no NUL, so keys of other queries differ.
    pub(super) fn cache_key(&self, class: &str) -> String {
        let values = self.cursor.values();
        let length = class.len() + self.before.len() + self.after.len() + values.len() + 3;
        let mut key = String::with_capacity(length);
        key.push_str(class);
        key.push('a');
        key.extend(values.iter().map(|value| if *value == Value::Null { '0' } else { '1' }));
        for part in [self.before, self.after] {
            key.push('\0');
            key.push_str(part);
        }
        key
    }

    /// Returns the location of the presumed cursor with its quotes. If the parser has found the cursor of the query there,
    /// replacing its text changes nothing else in the query.
    pub(super) fn place(&self) -> Span {
        Span::new(self.before.len() - 1, self.before.len() + self.length + 1)
    }

    /// Verifies that the cursor belongs to the query, and returns its values.
    pub(super) fn open(self, query: &PlannedQuery) -> Option<Arc<[Value]>> {
        let node = &query.node;
        let values = query.seal.open(self.cursor, node.order.len())?;
        Some(planner::typed(&node.columns, &node.order, values))
    }
}
