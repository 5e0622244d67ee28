//! Output for people at a terminal: colors, tables, excerpts of faulty queries, progress.

mod escape;
mod excerpt;
mod json;
mod password;
mod progress;
mod table;

use std::io::IsTerminal;

pub(crate) use escape::{escaped, escaped_lines};
pub(crate) use excerpt::excerpt;
pub(crate) use json::json;
pub(crate) use password::read_password;
pub(crate) use progress::{Spinner, bytes_bar};
pub(crate) use table::table;

/// Whether output is colored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colors(bool);

/// The appearance of a piece of text, with the code of its color.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    Detail = 2,
    Fault = 31,
    Text = 32,
    Number = 33,
    Keyword = 35,
    Name = 36,
}

impl Colors {
    /// No colors.
    #[cfg(test)]
    pub(crate) const OFF: Self = Self(false);

    /// Returns colors for a stream if it is a terminal, unless `NO_COLOR` is set or the terminal is dumb.
    pub(crate) fn for_stream(stream: &impl IsTerminal) -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let plain = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
        Self(stream.is_terminal() && !plain)
    }

    /// Returns the text in the color of the style.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.0 { format!("\x1b[{}m{text}\x1b[0m", style as u8) } else { text.to_owned() }
    }
}
