//! Which rows can match a pattern at all? Those whose text begins as the pattern does, which an index finds.

use sea_query::{Expr, ExprTrait};

use crate::Pattern;

/// The rows among which those are that match; `None` where the pattern begins with a wildcard, or with nothing that
/// an index could be asked for. Whoever asks has to look for the pattern itself too: some more rows are among them.
///
/// The collation is that of bytes, whatever the column's own is, for no other one keeps texts with one beginning
/// together. An index of another collation does not serve, and the answer is the same.
pub(super) fn range(text: &Expr, pattern: &str) -> Option<Expr> {
    let (from, to) = bounds(&Pattern::new(pattern, false).beginning())?;
    let text = || Expr::cust_with_expr("? COLLATE BINARY", text.clone());
    Some(text().gte(Expr::val(from)).and(text().lt(Expr::val(to))))
}

/// A text that those with this beginning do not sort before, and one that they all sort before.
fn bounds(beginning: &str) -> Option<(String, String)> {
    // What stands for bytes that are no text stands for any such bytes.
    let known = beginning.split(char::REPLACEMENT_CHARACTER).next().unwrap_or_default();
    // The last character becomes the next one. It is to differ from that in its last byte only: so it does in each
    // of the encodings that a database can have, and there is such a character.
    let known = known.trim_end_matches(|char| u32::from(char) & 0xff == 0xff);
    let last = known.chars().next_back()?;
    let next = char::from_u32(u32::from(last) + 1)?;
    let mut to = known.get(..known.len() - last.len_utf8())?.to_owned();
    to.push(next);
    // In a column of numbers a text that reads as one would be compared as one, and so come before all texts that
    // are none. This one does not read as a number.
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
    fn beginnings_have_a_next_text() {
        check("", None);
        check("abc", Some(("abc", "abd")));
        check("12", Some(("12", "13")));
        check("az", Some(("az", "a{")));
        check("\0", Some(("\0", "\u{1}")));
        check("日本", Some(("日本", "日札")));
        check("\u{1f600}", Some(("\u{1f600}", "\u{1f601}")));
        // No next character, or one that differs in more than the last byte.
        check("a\u{10ffff}", Some(("a", "b")));
        check("a\u{d7ff}ÿ", Some(("a", "b")));
        check("ÿ", None);
        // Bytes that are no text look like this.
        check("ab\u{fffd}c", Some(("ab", "ac")));
        check("\u{fffd}", None);
    }

    #[test]
    fn texts_lie_within_the_bounds_of_their_beginnings() {
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
