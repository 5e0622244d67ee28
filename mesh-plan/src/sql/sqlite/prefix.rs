//! Ranges of text for patterns that begin with literal characters, so that an index can be used.

use sea_query::{Expr, ExprTrait as _};

use super::param::Param;
use crate::Pattern;
use crate::sql::custom::collate;
use crate::sql::statement::Params;

/// Returns a condition that all matching texts meet, and that other texts may meet too. `None` if the pattern has no beginning
/// that an index could search for. If there is a slot, the pattern is that of the input in the slot.
///
/// The texts are compared in the binary collation, regardless of the collation of the column, because no other collation keeps
/// texts with the same beginning together. An index with another collation is not used, which does not change the result.
pub(super) fn range(
    params: &mut Params<Param>,
    text: &Expr,
    (pattern, slot): (&str, Option<usize>),
) -> Option<Expr> {
    let (from, to) = pattern_bounds(pattern)?;
    let mut bound = |text: String, is_end| {
        params.add(match slot {
            Some(slot) => Param::PatternBound(slot, is_end),
            None => Param::Value(text.into()),
        })
    };
    let text = || collate(text.clone(), "BINARY");
    Some(text().gte(bound(from, false)).and(text().lt(bound(to, true))))
}

/// Returns a bound of the texts that begin as the pattern does: the upper one if `is_end` is set, else the lower one. `None` if
/// the pattern has no such beginning.
pub(super) fn bound(pattern: &str, is_end: bool) -> Option<String> {
    pattern_bounds(pattern).map(|(from, to)| if is_end { to } else { from })
}

/// Returns whether an index can search for the beginning of the pattern.
pub(crate) fn has_beginning(pattern: &str) -> bool {
    pattern_bounds(pattern).is_some()
}

/// Returns the inclusive lower and the exclusive upper bound of the texts that begin as the pattern does.
fn pattern_bounds(pattern: &str) -> Option<(String, String)> {
    bounds(&Pattern::new(pattern, false).ok()?.literal_prefix())
}

/// Returns the inclusive lower and the exclusive upper bound of the texts with this beginning.
fn bounds(beginning: &str) -> Option<(String, String)> {
    // The replacement character represents any bytes that are not UTF-8.
    let known = beginning.split(char::REPLACEMENT_CHARACTER).next().unwrap_or_default();
    // The upper bound has the next character instead of the last one. The two may differ in the last byte only, so
    // that they are in order in each encoding that a database can have.
    let known = known.trim_end_matches(|char| u32::from(char) & 0xff == 0xff);
    let last = known.chars().next_back()?;
    let next = char::from_u32(u32::from(last) + 1)?;
    let mut to = known.get(..known.len() - last.len_utf8())?.to_owned();
    to.push(next);
    // A numeric column would compare a text that reads as a number as a number, and numbers sort before all texts. With this
    // character at its end, the text does not read as a number.
    to.push('\u{1}');
    Some((known.to_owned(), to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(beginning: &str, expected: Option<(&str, &str)>) {
        let found = bounds(beginning);
        let found = found.as_ref().map(|(from, to)| (from.as_str(), to.strip_suffix('\u{1}').unwrap()));
        assert_eq!(found, expected, "{beginning:?}");
    }

    #[test]
    fn the_upper_bound_has_the_next_character() {
        check("", None);
        check("abc", Some(("abc", "abd")));
        check("12", Some(("12", "13")));
        check("az", Some(("az", "a{")));
        check("\0", Some(("\0", "\u{1}")));
        check("日本", Some(("日本", "日札")));
        check("\u{1f600}", Some(("\u{1f600}", "\u{1f601}")));
        // There is no next character, or it differs in more than the last byte.
        check("a\u{10ffff}", Some(("a", "b")));
        check("a\u{d7ff}ÿ", Some(("a", "b")));
        check("ÿ", None);
        // The replacement character ends the beginning.
        check("ab\u{fffd}c", Some(("ab", "ac")));
        check("\u{fffd}", None);
    }

    #[test]
    fn texts_are_within_the_bounds_of_their_beginnings() {
        let texts =
            ["a", "ab", "b", "ÿ", "Ā", "\u{7f}", "\u{80}", "\u{7ff}", "\u{d7fe}", "\u{e000}", "\u{10fffe}"];
        let utf16 =
            |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<_>>();
        for beginning in texts {
            let Some((from, to)) = bounds(beginning) else { continue };
            for rest in ["", "\0", "a", "ÿ", "\u{ffff}", "\u{10ffff}"] {
                let text = format!("{beginning}{rest}");
                assert!(from <= text && text < to, "{text:?}");
                for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                    let [from, text, to] = [&from, &text, &to].map(|text| utf16(text, bytes));
                    assert!(from <= text && text < to, "{text:?}");
                }
            }
        }
    }
}
