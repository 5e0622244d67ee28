//! Matching of text against `like` patterns. `SPEC §3.7`
//!
//! Databases differ in letter case, escapes and the time they take for hostile patterns. Back ends without a fitting
//! operator use this implementation, which takes at most as many steps as the product of the lengths of text and
//! pattern.

/// A parsed pattern: `%` matches any text, `_` any one character, and `\` makes the next character literal.
///
/// ```
/// use mesh_plan::Pattern;
///
/// assert!(Pattern::new("100\\%_", false).matches("100%!"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pieces: Vec<Piece>,
    ignore_case: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Any,
    One,
    Char(char),
}

impl Pattern {
    /// Parses a pattern. A `\` at its end is literal.
    pub fn new(pattern: &str, ignore_case: bool) -> Self {
        let mut pieces = Vec::with_capacity(pattern.len());
        let mut chars = pattern.chars();
        while let Some(char) = chars.next() {
            match char {
                '%' if pieces.last() == Some(&Piece::Any) => {}
                '%' => pieces.push(Piece::Any),
                '_' => pieces.push(Piece::One),
                '\\' => pieces.push(Piece::Char(fold(chars.next().unwrap_or('\\'), ignore_case))),
                char => pieces.push(Piece::Char(fold(char, ignore_case))),
            }
        }
        Self { pieces, ignore_case }
    }

    /// Returns the literal characters at the start of the pattern, with which all matching texts begin; empty if letter
    /// case is ignored.
    pub fn literal_prefix(&self) -> String {
        let literal = |piece: &Piece| match piece {
            Piece::Char(char) => Some(*char),
            Piece::Any | Piece::One => None,
        };
        if self.ignore_case { String::new() } else { self.pieces.iter().map_while(literal).collect() }
    }

    /// Returns whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let (mut pieces, mut rest) = (self.pieces.as_slice(), text.chars());
        // Where to resume if a mismatch shows that the last `%` has to match one more character.
        let mut retry = None;
        loop {
            let mut after = rest.clone();
            let is_match = match (pieces.first(), after.next()) {
                (Some(Piece::Any), _) => {
                    pieces = pieces.get(1..).unwrap_or_default();
                    retry = Some((pieces, rest.clone()));
                    continue;
                }
                (None, None) => return true,
                (_, None) => return false,
                (Some(Piece::One), Some(_)) => true,
                (Some(Piece::Char(wanted)), Some(char)) => *wanted == fold(char, self.ignore_case),
                (None, Some(_)) => false,
            };
            if is_match {
                (pieces, rest) = (pieces.get(1..).unwrap_or_default(), after);
                continue;
            }
            let Some((next, from)) = &mut retry else { return false };
            from.next();
            (pieces, rest) = (*next, from.clone());
        }
    }
}

/// Escapes a `\` at the end of a pattern, which some databases refuse.
#[cfg(feature = "sql")]
pub(crate) fn escape_end(pattern: &str) -> String {
    let mut text = pattern.to_owned();
    if text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
        text.push('\\');
    }
    text
}

fn fold(char: char, ignore_case: bool) -> char {
    if !ignore_case {
        return char;
    }
    let mut lower = char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: bool) {
        assert_eq!(Pattern::new(pattern, false).matches(text), expected, "{pattern:?} on {text:?}");
    }

    #[test]
    fn wildcards_and_escapes() {
        check("", "", true);
        check("", "a", false);
        check("%", "", true);
        check("a%", "abc", true);
        check("%c", "abc", true);
        check("%b%", "abc", true);
        check("a_c", "abc", true);
        check("a_c", "ac", false);
        check("_", "é", true);
        check("%ab%ab", "abxab", true);
        check("%aab", "aaab", true);
        check("a%b%c", "a-b-b-c", true);
        check("a%b%c", "a-b-b-d", false);
        check(r"100\%", "100%", true);
        check(r"100\%", "1000", false);
        check(r"a\_b", "a_b", true);
        check(r"a\_b", "axb", false);
        check(r"a\", r"a\", true);
        check(r"\\%", r"\x", true);
        check("ABC", "abc", false);
        assert!(Pattern::new("ÄB%", true).matches("äbc"));
    }

    #[cfg(feature = "sql")]
    #[test]
    fn literal_prefixes_and_escaped_ends() {
        for (pattern, prefix) in [
            ("", ""),
            ("%a", ""),
            ("_", ""),
            ("ab", "ab"),
            ("ab%c", "ab"),
            (r"a\%_b", "a%"),
            (r"a\", r"a\"),
            (r"\\%", r"\"),
        ] {
            assert_eq!(Pattern::new(pattern, false).literal_prefix(), prefix, "{pattern}");
            assert_eq!(Pattern::new(pattern, true).literal_prefix(), "", "{pattern}");
            assert_eq!(Pattern::new(&escape_end(pattern), false), Pattern::new(pattern, false));
        }
        assert_eq!([r"a\", r"a\\", "a"].map(escape_end), [r"a\\", r"a\\", "a"]);
    }

    #[test]
    fn hostile_patterns_take_at_most_text_times_pattern_steps() {
        let pattern = Pattern::new(&"%a".repeat(10_000), false);
        assert!(!pattern.matches(&("a".repeat(9_999) + "b")));
    }
}
