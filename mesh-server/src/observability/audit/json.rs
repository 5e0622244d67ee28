//! The JSON of entries.

use serde_json::{Map, Value};

/// The maximum number of bytes of a text from a client in an entry, such as a path. The rest is cut off.
pub(super) const MAX_TEXT: usize = 512;
/// The replacement for null characters, which texts in PostgreSQL cannot contain.
pub(super) const REPLACEMENT: &str = "\u{fffd}";

/// The members of an entry.
#[derive(Default)]
pub(super) struct Members(pub(super) Map<String, Value>);

impl Members {
    /// Adds a member, unless its value is null.
    pub(super) fn add(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        if !value.is_null() {
            self.0.insert(name.to_owned(), value);
        }
    }
}

/// Returns a text from a client, truncated to the maximum length.
pub(super) fn text(text: &str) -> Value {
    Value::from(clipped(text).replace('\0', REPLACEMENT))
}

/// Truncates a text from a client to the maximum length.
pub(super) fn clipped(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}
