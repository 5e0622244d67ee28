//! Does text match a `like` pattern? `SPEC §3.7`
//!
//! Databases differ in letter case, escapes and the time they take on hostile patterns; this is the one
//! meaning that every back end without a fitting operator of its own uses. It never takes more steps than
//! the lengths of text and pattern multiplied.

/// A pattern, read once: `%` is any text, `_` any one character, `\` makes the next character literal.
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
    /// Reads a pattern. A `\` at its end stands for itself.
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

    /// The text that all texts begin with which match, as far as the pattern says it letter for letter; empty where
    /// letter case is ignored.
    pub fn beginning(&self) -> String {
        let literal = |piece: &Piece| match piece {
            Piece::Char(char) => Some(*char),
            Piece::Any | Piece::One => None,
        };
        if self.ignore_case { String::new() } else { self.pieces.iter().map_while(literal).collect() }
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let mut piece = 0;
        let mut rest = text.chars();
        // Where to go on when a mismatch shows that the last `%` has to take in one character more.
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            let here = rest.clone();
            let step = match (self.pieces.get(piece), rest.next()) {
                (Some(Piece::Any), _) => {
                    retry = Some((piece + 1, here.clone()));
                    rest = here;
                    true
                }
                (Some(Piece::One), Some(_)) => true,
                (Some(Piece::Char(wanted)), Some(char)) => *wanted == fold(char, self.ignore_case),
                (None, None) => return true,
                (_, None) => return false,
                (None, Some(_)) => false,
            };
            if step {
                piece += 1;
                continue;
            }
            let Some((after, from)) = &mut retry else { return false };
            if from.next().is_none() {
                return false;
            }
            piece = *after;
            rest = from.clone();
        }
    }
}

/// The same pattern in a form that databases take: to some a `\` at the end is a fault.
#[cfg(feature = "sql")]
pub(crate) fn closed(pattern: &str) -> String {
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
    fn patterns() {
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
    fn beginnings_and_ends() {
        for (pattern, beginning) in [
            ("", ""),
            ("%a", ""),
            ("_", ""),
            ("ab", "ab"),
            ("ab%c", "ab"),
            (r"a\%_b", "a%"),
            (r"a\", r"a\"),
            (r"\\%", r"\"),
        ] {
            assert_eq!(Pattern::new(pattern, false).beginning(), beginning, "{pattern}");
            assert_eq!(Pattern::new(pattern, true).beginning(), "", "{pattern}");
            assert_eq!(Pattern::new(&closed(pattern), false), Pattern::new(pattern, false));
        }
        assert_eq!([r"a\", r"a\\", "a"].map(closed), [r"a\\", r"a\\", "a"]);
    }

    #[test]
    fn hostile_patterns_take_no_more_than_text_times_pattern() {
        let pattern = Pattern::new(&"%a".repeat(10_000), false);
        assert!(!pattern.matches(&("a".repeat(9_999) + "b")));
    }
}
