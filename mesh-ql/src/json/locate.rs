//! At which byte does an offender start, and what is wrong with text that is no JSON?
//!
//! A refused key is known by its place. A refused value is known by where the deserializer stopped, which is
//! just behind it, so its start is found by going back. That costs nothing unless there is an error.

use crate::SyntaxError;
use crate::json::value::Reading;

/// The error that ended a reading: a reader's refusal, or the deserializer's own.
pub(super) fn explain(reading: &Reading<'_>, error: &serde_json::Error) -> SyntaxError {
    let text = reading.text;
    let stop = offset(text, error.line(), error.column());
    if let Some(failure) = reading.failure.get() {
        let at = failure.at.unwrap_or_else(|| value_before(text, stop));
        return SyntaxError {
            path: failure.path.clone(),
            ..SyntaxError::at(text, at, failure.message.clone())
        };
    }
    let full = error.to_string();
    let what = full.rsplit_once(" at line ").map_or(full.as_str(), |(what, _)| what);
    let at = match what {
        _ if error.is_eof() => text.len(),
        "expected ident" | "invalid number" | "number out of range" => word_before(text, stop),
        _ => stop.saturating_sub(1),
    };
    SyntaxError::at(text, at, describe(what))
}

/// Where the word or number starts whose last byte read was the one before `stop`.
fn word_before(text: &str, stop: usize) -> usize {
    text.get(..stop.saturating_sub(1)).unwrap_or_default().trim_end_matches(is_word).len()
}

/// Where the value of a key starts, given the offset of the key's closing quote.
pub(super) fn value_after_key(text: &str, quote: usize) -> usize {
    let rest = text.get(quote + 1..).unwrap_or_default();
    let value = rest.trim_start_matches(is_space).trim_start_matches(':').trim_start_matches(is_space);
    text.len() - value.len()
}

/// Where the object starts whose first key starts at `key`.
pub(super) fn brace_before(text: &str, key: usize) -> Option<usize> {
    let before = text.get(..key)?.trim_end_matches(is_space);
    before.ends_with('{').then(|| before.len() - 1)
}

/// Where the value starts that ends at `stop`, or that has only just been opened there.
fn value_before(text: &str, stop: usize) -> usize {
    let before = text.get(..stop).unwrap_or(text).trim_end_matches(is_space);
    let start = match before.bytes().last() {
        Some(b'"') => string_before(before),
        Some(b'}') => opener_before(before, '{'),
        Some(b']') => opener_before(before, '['),
        Some(b'{' | b'[' | b':' | b',') => None,
        _ => Some(before.trim_end_matches(is_word).len()),
    };
    start.unwrap_or_else(|| before.len().saturating_sub(1))
}

/// The opening quote of the string that `text` ends with: a quote behind an even number of backslashes.
fn string_before(text: &str) -> Option<usize> {
    let inside = text.strip_suffix('"')?;
    inside.rmatch_indices('"').map(|(at, _)| at).find(|at| {
        let before = inside.get(..*at).unwrap_or_default();
        (before.len() - before.trim_end_matches('\\').len()).is_multiple_of(2)
    })
}

/// The opener of the empty object or array that `text` ends with.
fn opener_before(text: &str, opener: char) -> Option<usize> {
    let inside = text.get(..text.len().checked_sub(1)?)?.trim_end_matches(is_space);
    inside.ends_with(opener).then(|| inside.len() - 1)
}

/// The characters of `true`, `false`, `null` and numbers.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// The byte offset of a position as serde_json gives it: lines from 1, and as the column the number of bytes
/// of the line that it had read.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines_before = text.split_inclusive('\n').take(line.saturating_sub(1));
    lines_before.map(str::len).sum::<usize>() + column
}

/// The deserializer's own errors in our words.
fn describe(what: &str) -> String {
    let message = match what {
        "EOF while parsing a list" => "The query ends inside an array",
        "EOF while parsing an object" => "The query ends inside an object",
        "EOF while parsing a string" => "The query ends inside a string",
        "EOF while parsing a value" => "The query ends where a value is expected",
        "expected `:`" => "Expected ':' behind a key",
        "expected `,` or `]`" => "Expected ',' or ']'",
        "expected `,` or `}`" => "Expected ',' or '}'",
        "expected ident" | "expected value" => "Expected a JSON value",
        "key must be a string" => "Expected a key in double quotes (is the query in the QL format?)",
        "invalid escape" | "unexpected end of hex escape" => "Unknown or incomplete escape in a string",
        "invalid number" => "Malformed number",
        "number out of range" => "The number is too large",
        "lone leading surrogate in hex escape" | "invalid unicode code point" => {
            "The escape in the string stands for no character"
        }
        "trailing comma" => "A ',' with nothing behind it",
        "trailing characters" => "Unexpected text behind the end of the query",
        other if other.starts_with("control character") => "A control character in a string must be escaped",
        other => return format!("The query is not valid JSON: {other}"),
    };
    message.to_owned()
}
