//! Rendering of reports.

pub mod compare;
mod html;
mod json;
mod junit;
mod pretty;
mod tap;

use std::fmt::Write as _;

use crate::run::Report;

/// The formats of a report on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for terminals.
    Pretty,
    /// The Test Anything Protocol.
    Tap,
    /// JUnit XML.
    Junit,
    /// JSON.
    Json,
}

impl Format {
    /// All formats with their names.
    pub const ALL: [(&'static str, Self); 4] =
        [("pretty", Self::Pretty), ("tap", Self::Tap), ("junit", Self::Junit), ("json", Self::Json)];

    /// Parses a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }
}

/// Renders a report as text.
#[must_use]
pub fn render(report: &Report, format: Format) -> String {
    match format {
        Format::Pretty => printable(&pretty::render(report)),
        Format::Tap => printable(&tap::render(report)),
        Format::Junit => junit::render(report),
        Format::Json => json::render(report),
    }
}

/// Renders a report as a self-contained HTML page.
#[must_use]
pub fn html(report: &Report) -> String {
    html::render(report)
}

/// Makes text safe for terminals: control characters, and marks that reverse the direction of text, are shown as escapes.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let is_line = matches!(character, '\n' | '\t');
        let is_mark = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if is_mark || (character.is_control() && !is_line) {
            // The form of JSON, which is also valid in the quoted texts of TAP reports.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

/// Shortens text to about `most` characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{} […]", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Escapes text for XML and HTML, including quoted attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML cannot represent other control characters.
            control if control.is_control() && !matches!(control, '\n' | '\t' | '\r') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
