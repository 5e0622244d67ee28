//! What does a person at a terminal get that a program does not? Colors, tables, places of faults, signs of life.

mod excerpt;
mod json;
mod locate;
pub(crate) mod password;
mod progress;
mod table;

use std::io::{self, IsTerminal};

pub(crate) use json::json;
pub(crate) use locate::{Fault, excerpt_of};
pub(crate) use progress::Waiting;
pub(crate) use table::table;

/// Whether words are colored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colors(bool);

/// How a word looks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// What something is called.
    Name,
    /// Text.
    Text,
    /// Numbers.
    Number,
    /// `true`, `false`, `null`.
    Word,
    /// What is beside the point.
    Dim,
    /// What is wrong.
    Wrong,
    /// What stands above a list.
    Head,
}

impl Colors {
    /// None at all.
    #[cfg(test)]
    pub(crate) const OFF: Self = Self(false);

    /// Those of standard output, if it is a terminal whose user wants them.
    pub(crate) fn of_output() -> Self {
        Self::of(&io::stdout())
    }

    /// Those of standard error.
    pub(crate) fn of_errors() -> Self {
        Self::of(&io::stderr())
    }

    fn of(stream: &impl IsTerminal) -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let plain = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
        Self(stream.is_terminal() && !plain)
    }

    /// The text in the color of its look.
    pub(crate) fn paint(self, look: Look, text: &str) -> String {
        let code = match look {
            Look::Name => "36",
            Look::Text => "32",
            Look::Number => "33",
            Look::Word => "35",
            Look::Dim => "2",
            Look::Wrong => "1;31",
            Look::Head => "1",
        };
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The text with what a terminal would obey, rather than show, written out.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() { out.extend(letter.escape_default()) } else { out.push(letter) }
    }
    out
}
