//! Errors about the text of a query, and suggestions for misspelled names.

use std::fmt::{self, Display, Write};

use thiserror::Error;

use crate::span::{Position, Span};

/// The error for a text that is not a query or exceeds a bound. `SPEC §3.4`
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message} ({}{position})", .path.as_ref().map(|path| format!("in {path}, ")).unwrap_or_default())]
#[non_exhaustive]
pub struct SyntaxError {
    /// A sentence that names the wrong part and, unless it is obvious, states what is allowed.
    pub message: String,
    /// The path of the read node that contains the wrong part: dotted names from the root entity. `None` outside nodes.
    pub path: Option<String>,
    /// The wrong part of the text.
    pub span: Span,
    /// Line and column of the wrong part.
    pub position: Position,
}

/// A name from a query as messages show it: in quotes, on one line, and shortened, so that an error cannot return the
/// whole query.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Quoted<'_> {
    const MAX_CHARS: usize = 64;
}

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        let mut rest = self.0.chars();
        for character in rest.by_ref().take(Self::MAX_CHARS) {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        f.write_str(if rest.next().is_some() { "…'" } else { "'" })
    }
}

/// Returns the message for a name that is not one of `choices`. It suggests the nearest choice, or lists all choices if
/// none is near.
pub(crate) fn unknown(thing: &str, name: &str, choices: &[&str]) -> String {
    let quoted = Quoted(name);
    if let Some(choice) = nearest(name, choices) {
        return format!("Unknown {thing} {quoted}; did you mean '{choice}'?");
    }
    let expected = match choices {
        [others @ .., last] if !others.is_empty() => format!("'{}' or '{last}'", others.join("', '")),
        choices => format!("'{}'", choices.join("")),
    };
    format!("Unknown {thing} {quoted}; expected {expected}")
}

/// Returns the choice that `name` is probably a misspelling of. `name` may begin with the choice, or differ from it in up
/// to a third of the letters.
fn nearest<'c>(name: &str, choices: &[&'c str]) -> Option<&'c str> {
    // The comparison takes time proportional to the product of both lengths.
    const MAX_BYTES: usize = 24;
    let name = name.to_lowercase();
    let distance = |choice: &&'c str| {
        let letters = choice.to_lowercase();
        if letters.len() >= 3 && name.starts_with(&letters) {
            return Some((1, *choice));
        }
        let distance = strsim::osa_distance(&name, &letters);
        (distance <= name.len().max(letters.len()) / 3).then_some((distance, *choice))
    };
    let near = choices.iter().filter(|_| name.len() <= MAX_BYTES).filter_map(distance);
    near.min_by_key(|(distance, _)| *distance).map(|(_, choice)| choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_are_recognized_and_other_names_are_not() {
        let choices = ["eq", "in", "ilike", "isNull", "asc", "desc"];
        let cases = [
            ("IN", Some("in")),
            ("isnul", Some("isNull")),
            ("ilke", Some("ilike")),
            ("acs", Some("asc")),
            ("descending", Some("desc")),
            ("equals", None),
            ("", None),
            ("=", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, &choices), expected, "{name}");
        }
        assert_eq!(nearest(&"i".repeat(100_000), &choices), None);
    }
}
