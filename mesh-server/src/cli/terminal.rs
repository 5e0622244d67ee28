//! Output for people at a terminal: colors, tables, excerpts of faulty queries, progress.

mod excerpt;
mod json;
pub(crate) mod password;
mod progress;
mod table;

use std::io::{self, IsTerminal};

pub(crate) use excerpt::excerpt;
pub(crate) use json::json;
pub(crate) use progress::{Spinner, bytes_bar};
pub(crate) use table::table;

/// Whether output is colored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colors(bool);

/// The appearance of a piece of text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// A name.
    Name,
    /// A string.
    Text,
    /// A number.
    Number,
    /// `true`, `false`, `null`.
    Keyword,
    /// A detail.
    Dim,
    /// A fault.
    Wrong,
}

impl Colors {
    /// No colors.
    #[cfg(test)]
    pub(crate) const OFF: Self = Self(false);

    /// Colors for standard output if it is a terminal, unless `NO_COLOR` is set or the terminal is dumb.
    pub(crate) fn of_output() -> Self {
        Self::for_stream(&io::stdout())
    }

    /// Colors for standard error, by the same rules.
    pub(crate) fn of_errors() -> Self {
        Self::for_stream(&io::stderr())
    }

    fn for_stream(stream: &impl IsTerminal) -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let plain = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
        Self(stream.is_terminal() && !plain)
    }

    /// Returns the text in the color of the look.
    pub(crate) fn paint(self, look: Look, text: &str) -> String {
        let code = match look {
            Look::Name => "36",
            Look::Text => "32",
            Look::Number => "33",
            Look::Keyword => "35",
            Look::Dim => "2",
            Look::Wrong => "1;31",
        };
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Escapes control characters, which a terminal would interpret.
fn escape_control(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() { out.extend(letter.escape_default()) } else { out.push(letter) }
    }
    out
}
