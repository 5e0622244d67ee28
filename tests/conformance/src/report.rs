//! Rendering of reports.

mod html;
mod json;
mod junit;
mod pretty;
mod tap;

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
        Format::Pretty => pretty::render(report),
        Format::Tap => tap::render(report),
        Format::Junit => junit::render(report),
        Format::Json => json::render(report),
    }
}

/// Renders a report as a self-contained HTML page.
#[must_use]
pub fn html(report: &Report) -> String {
    html::render(report)
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
