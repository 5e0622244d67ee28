//! Bounds of the texts that begin with the same characters.

/// Returns the inclusive lower and the exclusive upper bound of the texts with this beginning.
pub(super) fn bounds(beginning: &str) -> Option<(String, String)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(beginning: &str, expected: Option<(&str, &str)>) {
        let found = bounds(beginning);
        let found = found.as_ref().map(|(from, to)| (from.as_str(), to.as_str()));
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
