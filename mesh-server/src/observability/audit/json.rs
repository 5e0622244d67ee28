//! The JSON of entries, as text.

use std::fmt::{self, Write as _};

use serde_json::Value;

/// The maximum number of bytes of a text from a client in an entry, such as a path. The rest is cut off.
pub(super) const MAX_TEXT: usize = 512;
/// The replacement for null characters.
pub(super) const REPLACEMENT: &str = "\u{fffd}";

/// The members of a JSON object, without its braces.
#[derive(Default)]
pub(super) struct Members(String);

impl Members {
    /// Adds a member whose value is JSON already.
    pub(super) fn raw(&mut self, name: &str, value: impl fmt::Display) {
        let separator = if self.0.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(self.0, "{separator}\"{name}\":{value}");
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.raw(name, Json(clipped(text)));
    }

    pub(super) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// Returns the object.
    pub(super) fn into_object(self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// Formats a text as a JSON string.
pub(super) struct Json<'t>(pub(super) &'t str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Value::from(self.0.replace('\0', REPLACEMENT)).to_string())
    }
}

/// Truncates a text from a client to the maximum length.
pub(super) fn clipped(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}
