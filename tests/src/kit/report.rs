//! How is the outcome of a run written down?

mod html;
mod json;
mod junit;
mod pretty;
mod tap;

use super::run::Report;

/// The forms of a report on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Pretty,
    /// The Test Anything Protocol.
    Tap,
    /// The XML that build servers read.
    Junit,
    /// For programs.
    Json,
}

impl Format {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 4] =
        [("pretty", Self::Pretty), ("tap", Self::Tap), ("junit", Self::Junit), ("json", Self::Json)];

    /// The form of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, format)| format)
    }
}

/// The report as text.
#[must_use]
pub fn render(report: &Report, format: Format) -> String {
    match format {
        Format::Pretty => pretty::render(report),
        Format::Tap => tap::render(report),
        Format::Junit => junit::render(report),
        Format::Json => json::render(report),
    }
}

/// The report as a page that needs nothing but itself.
#[must_use]
pub fn page(report: &Report) -> String {
    html::render(report)
}

/// Text that can stand in XML and HTML, in quotes too.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to write other control characters.
            control if control.is_control() && !matches!(control, '\n' | '\t' | '\r') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
