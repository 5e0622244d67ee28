//! Where in a query is what an error speaks of?
//!
//! A syntax error has line and column. Any other names the read node by its path, and the offender in quotes; it is
//! looked for among the words of that node.

mod words;

use std::ops::Range;

use mesh_ql::Format;

use super::{Colors, excerpt};
use words::{Word, words};

/// Beyond this a query is not searched; a person has not written it.
const SEARCHED_BYTES: usize = 1 << 20;

/// What is said to be wrong with a query.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fault<'a> {
    /// The sentence.
    pub(crate) message: &'a str,
    /// The path of the read node, such as `post.comments`.
    pub(crate) path: Option<&'a str>,
    /// Line and column, from 1; columns count characters.
    pub(crate) at: Option<(u32, u32)>,
}

/// The line of the query that is at fault, with marks below; nothing where it is not to be found.
pub(crate) fn excerpt_of(format: Format, text: &str, fault: Fault<'_>, colors: Colors) -> String {
    match locate(format, text, fault) {
        Some(part) => format!("\n{}", excerpt::excerpt(text, part, colors)),
        None => String::new(),
    }
}

fn locate(format: Format, text: &str, fault: Fault<'_>) -> Option<Range<usize>> {
    if text.len() > SEARCHED_BYTES {
        return None;
    }
    if let Some((line, column)) = fault.at {
        return Some(token(text, offset(text, line, column)));
    }
    let all = words(format, text);
    let path = fault.path.unwrap_or_default();
    // What is suggested in place of the offender may stand in the query too.
    let message = fault.message.split("; did you mean").next().unwrap_or_default();
    let named: Vec<&str> = message.split('\'').skip(1).step_by(2).collect();
    let control = control(message);
    let compared = message.starts_with("Operator ") || message.contains("' takes ");
    let in_control = |word: &Word<'_>| match (control, word.control) {
        (Some(wanted), Some(own)) => wanted == own,
        (None, Some(own)) => compared && matches!(own, "$where" | "$having"),
        (_, None) => false,
    };
    let find = |is: &dyn Fn(&Word<'_>) -> bool| all.iter().find(|word| word.path == path && is(word));
    let chosen = find(&|word| in_control(word) && named.contains(&word.name))
        .or_else(|| find(&|word| word.control.is_none() && control == Some(word.name)))
        .or_else(|| {
            named.iter().find_map(|name| {
                let selected = find(&|word| word.control.is_none() && word.name == *name);
                selected.or_else(|| find(&|word| word.name == *name))
            })
        })
        .or_else(|| {
            let (above, own) = path.rsplit_once('.').unwrap_or(("", path));
            all.iter().find(|word| word.path == above && word.name == own && !own.is_empty())
        });
    chosen.map(|word| word.at.clone())
}

/// The first control that a message names.
fn control(message: &str) -> Option<&str> {
    let from = message.get(message.find('$')?..)?;
    let end = from.char_indices().skip(1).find(|(_, letter)| !letter.is_ascii_alphabetic());
    from.get(..end.map_or(from.len(), |(at, _)| at)).filter(|name| name.len() > 1 && *name != "$select")
}

fn offset(text: &str, line: u32, column: u32) -> usize {
    let line = line.max(1) as usize - 1;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    let before: usize = rest.chars().take(column.max(1) as usize - 1).map(char::len_utf8).sum();
    (start + before).min(text.len())
}

/// The string, word or character that begins there.
fn token(text: &str, at: usize) -> Range<usize> {
    let rest = text.get(at..).unwrap_or_default();
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.' | '+' | '-');
    let length = match rest.chars().next() {
        None => 0,
        Some('"') => {
            let mut escaped = false;
            let closing = rest.char_indices().skip(1).find(|(_, letter)| {
                let closes = *letter == '"' && !escaped;
                escaped = *letter == '\\' && !escaped;
                closes || *letter == '\n'
            });
            closing.map_or(rest.len(), |(at, letter)| if letter == '"' { at + 1 } else { at })
        }
        Some(letter) if is_word(letter) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
        Some(letter) => letter.len_utf8(),
    };
    at..at + length
}

#[cfg(test)]
mod tests;
