//! Matching of text against `like` patterns, in time that is linear in the length of the text. `SPEC §3.7`
//!
//! Databases differ in letter case, escapes and the time they take for hostile patterns. Back ends without a fitting
//! operator use this implementation. A pattern is compiled to fixed runs of characters with gaps between them. Each run
//! is searched from the end of the one before, and a search never goes back.

mod run;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use run::{Run, Searcher};
use thiserror::Error;

/// A compiled pattern: `%` matches any text, `_` any one character, and `\` makes the next character literal.
///
/// ```
/// use mesh_plan::backend::Pattern;
///
/// # fn main() -> Result<(), mesh_plan::backend::PatternTooLong> {
/// assert!(Pattern::new("100\\%_", false)?.matches("100%!"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The number of characters, which bounds the work at both ends of a text.
    chars: usize,
    ignore_case: bool,
    /// The run that a text begins with.
    head: Run,
    /// The runs between two gaps, each with the smallest number of characters in the gap before it.
    middle: Vec<(usize, Searcher)>,
    /// The run that a text ends with, with the gap before it. A pattern without `%` has no tail, and its head is the whole
    /// pattern.
    tail: Option<(usize, Run)>,
}

/// The error for a pattern longer than [`Pattern::MAX_CHARS`]. `SPEC §3.11`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a pattern of {chars} characters; at most {} are allowed", Pattern::MAX_CHARS)]
pub struct PatternTooLong {
    /// The number of characters of the pattern.
    pub chars: usize,
}

impl Pattern {
    /// The largest number of characters of a pattern, which bounds the time per character of a text.
    pub const MAX_CHARS: usize = 1_000;

    /// Compiles a pattern. A `\` at its end is literal.
    ///
    /// # Errors
    /// The pattern is too long.
    pub fn new(pattern: &str, ignore_case: bool) -> Result<Self, PatternTooLong> {
        let chars = Self::check(pattern)?;
        let (mut head, mut middle) = (Run::default(), Vec::new());
        // The gap before the current run; none before the first `%`.
        let mut gap: Option<usize> = None;
        let mut run = Run::default();
        let mut rest = pattern.chars();
        while let Some(char) = rest.next() {
            match (char, &mut gap) {
                ('%', Some(_)) if run.is_empty() => {}
                ('_', Some(gap)) if run.is_empty() => *gap += 1,
                ('%', _) => {
                    let following = run.trim_any_chars();
                    let run = std::mem::take(&mut run);
                    match gap.replace(following) {
                        None => head = run,
                        Some(gap) => middle.push((gap, Searcher::new(run, ignore_case))),
                    }
                }
                ('_', _) => run.push(None),
                ('\\', _) => run.push(Some(fold(rest.next().unwrap_or('\\'), ignore_case))),
                (char, _) => run.push(Some(fold(char, ignore_case))),
            }
        }
        let tail = match gap {
            Some(gap) => Some((gap, run)),
            None => {
                head = run;
                None
            }
        };
        Ok(Self { chars, ignore_case, head, middle, tail })
    }

    /// Returns the number of characters of a pattern, if it is not too long.
    pub(crate) fn check(pattern: &str) -> Result<usize, PatternTooLong> {
        let chars = pattern.chars().count();
        if chars > Self::MAX_CHARS { Err(PatternTooLong { chars }) } else { Ok(chars) }
    }

    /// Returns the literal characters at the start of the pattern, with which all matching texts begin; empty if letter
    /// case is ignored.
    pub fn literal_prefix(&self) -> String {
        if self.ignore_case { String::new() } else { self.head.literal_prefix() }
    }

    /// Returns the inclusive lower and the exclusive upper bound, in binary order, of the texts that begin with the literal
    /// prefix; `None` if letter case is ignored, or if no such range contains them all.
    pub fn prefix_bounds(&self) -> Option<(String, String)> {
        let beginning = self.literal_prefix();
        // The replacement character represents any bytes that are not UTF-8.
        let known = beginning.split(char::REPLACEMENT_CHARACTER).next().unwrap_or_default();
        // The upper bound has the next character instead of the last one. The two may differ in the last byte only, so
        // that they are in order in each encoding that a database can have.
        let known = known.trim_end_matches(|char| u32::from(char) & 0xff == 0xff);
        let last = known.chars().next_back()?;
        let next = char::from_u32(u32::from(last) + 1)?;
        let mut to = known.get(..known.len() - last.len_utf8())?.to_owned();
        to.push(next);
        Some((known.to_owned(), to))
    }

    /// Returns whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let Ok(matches) = self.try_matches(text, |_| Ok::<_, Infallible>(()));
        matches
    }

    /// Returns whether the whole text matches. Calls `spend` with the number of steps taken since the last call, at least
    /// about every ten microseconds. A step takes about a nanosecond.
    ///
    /// # Errors
    /// Errors of `spend`, which end the matching.
    pub fn try_matches<E>(
        &self,
        text: &str,
        mut spend: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<bool, E> {
        spend(self.chars.min(text.len()))?;
        let Some(mut start) = self.head.end(text, 0, self.ignore_case) else { return Ok(false) };
        let Some((gap, tail)) = &self.tail else { return Ok(start == text.len()) };
        for (gap, searcher) in &self.middle {
            let Some(from) = skip(text, start, *gap) else { return Ok(false) };
            let Some(end) = searcher.find(text, from, &mut spend)? else { return Ok(false) };
            start = end;
        }
        let Some(from) = skip(text, start, *gap) else { return Ok(false) };
        let tail_start = tail.start_at_end_of(text).filter(|tail_start| *tail_start >= from);
        Ok(tail_start.is_some_and(|start| tail.end(text, start, self.ignore_case).is_some()))
    }
}

/// Returns the index that is `chars` characters after `from`; `None` past the end.
fn skip(text: &str, from: usize, chars: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.char_indices().map(|(index, _)| from + index).chain([text.len()]).nth(chars)
}

fn fold(char: char, ignore_case: bool) -> char {
    if !ignore_case {
        return char;
    }
    if char.is_ascii() {
        return char.to_ascii_lowercase();
    }
    let mut lower = char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => char,
    }
}
