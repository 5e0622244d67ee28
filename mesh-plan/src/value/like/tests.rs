//! Matching agrees with a matcher that follows the definition, and takes a bounded number of steps.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(pattern: &str, text: &str, expected: bool) {
    assert_eq!(compiled(pattern, false).matches(text), expected, "{pattern:?} on {text:?}");
}

fn compiled(pattern: &str, ignore_case: bool) -> Pattern {
    Pattern::new(pattern, ignore_case).unwrap()
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
    assert!(compiled("ÄB%", true).matches("äbc"));
}

#[test]
fn gaps_have_a_least_number_of_characters() {
    check("%__%", "a", false);
    check("%_%_", "éé", true);
    check("a%_b", "ab", false);
    check("a_%b", "axb", true);
    check("a%__b%c", "a12b3c", true);
    check("a%__b%c", "a1b3c", false);
    check("_%_", "a", false);
    check("%a_", "aab", true);
    check("%a_", "ba", false);
    check("ab%ba", "aba", false);
    check("ab%ba", "abba", true);
}

#[test]
fn literal_prefixes() {
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
        assert_eq!(compiled(pattern, false).literal_prefix(), prefix, "{pattern}");
        assert_eq!(compiled(pattern, true).literal_prefix(), "", "{pattern}");
    }
}

#[test]
fn the_length_of_a_pattern_is_bounded_in_characters() {
    let longest = "é".repeat(Pattern::MAX_CHARS);
    assert!(compiled(&longest, false).matches(&longest));
    assert!(compiled(&longest, true).matches(&longest.to_uppercase()));
    let chars = Pattern::MAX_CHARS + 1;
    assert_eq!(Pattern::new(&(longest + "%"), true).err(), Some(PatternTooLong { chars }));
}

/// Returns whether a text matches, computed from a table of all pairs of prefixes of pattern and text.
fn matches_by_definition(pattern: &str, text: &str, ignore_case: bool) -> bool {
    let text: Vec<char> = text.chars().map(|char| fold(char, ignore_case)).collect();
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut pattern = pattern.chars();
    while let Some(char) = pattern.next() {
        let mut next = vec![false; text.len() + 1];
        let wanted = match char {
            '%' => {
                let first = reached.iter().position(|reached| *reached).unwrap_or(text.len() + 1);
                (first..=text.len()).for_each(|end| next[end] = true);
                reached = next;
                continue;
            }
            '_' => None,
            '\\' => Some(pattern.next().unwrap_or('\\')),
            char => Some(char),
        };
        let wanted = wanted.map(|char| fold(char, ignore_case));
        for (end, char) in text.iter().enumerate() {
            next[end + 1] = reached[end] && wanted.is_none_or(|wanted| wanted == *char);
        }
        reached = next;
    }
    reached[text.len()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matching_agrees_with_the_definition(
        pattern in r"[ab%_\\AéÉİK\u{212a}]{0,12}",
        text in r"[abAéÉi%_\\k\u{212a}]{0,24}",
        ignore_case: bool,
    ) {
        let expected = matches_by_definition(&pattern, &text, ignore_case);
        prop_assert_eq!(compiled(&pattern, ignore_case).matches(&text), expected);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Runs of several words, with and without `_`, near the end of a text of a few letters.
    #[test]
    fn long_runs_agree_with_the_definition(
        run in "[ab_]{60,140}",
        before in "[ab]{0,200}",
        changed in 0usize..200,
        ignore_case: bool,
    ) {
        let mut text: Vec<char> = before.chars().chain(run.replace('_', "c").chars()).collect();
        if let Some(char) = text.get_mut(changed) {
            *char = 'a';
        }
        let text: String = text.into_iter().collect();
        for pattern in [format!("%{run}"), format!("%{run}%"), format!("a%{run}%a%"), run.clone()] {
            let expected = matches_by_definition(&pattern, &text, ignore_case);
            prop_assert_eq!(compiled(&pattern, ignore_case).matches(&text), expected, "{}", pattern);
        }
    }
}

/// A run is found wherever it begins, also across the border of two chunks of a search.
#[test]
fn runs_are_found_at_every_distance() {
    let borders = (65_530..65_545).chain(131_065..131_085).chain([0, 1, 200_000]);
    for start in borders {
        let text = "é".to_owned() + &"x".repeat(start) + "needle" + &"y".repeat(10);
        for (pattern, ignore_case) in [("%needle%", false), ("%NEEDLE%", true), ("%ne_dle%y", false)] {
            assert!(compiled(pattern, ignore_case).matches(&text), "{pattern} at {start}");
        }
        assert!(!compiled("%needlex%", false).matches(&text), "{start}");
    }
}

/// Returns the steps of a match.
fn steps(pattern: &str, text: &str, ignore_case: bool) -> usize {
    let mut steps = 0;
    let counted = |more| {
        steps += more;
        Ok::<_, Infallible>(())
    };
    let Ok(_) = compiled(pattern, ignore_case).try_matches(text, counted);
    steps
}

#[test]
fn hostile_patterns_take_a_bounded_number_of_steps_per_character() {
    let text = "a".repeat(1 << 20);
    let steps_max = text.len() * Pattern::MAX_CHARS.div_ceil(64) + Pattern::MAX_CHARS;
    let hostile = [
        "%a".repeat(499) + "b",
        "%_".repeat(499) + "b",
        format!("%{}b", "_".repeat(990)),
        format!("%{}b%", "a".repeat(990)),
        format!("%{}b%", "a_".repeat(495)),
        format!("{}%b", "a%".repeat(490)),
    ];
    for pattern in &hostile {
        for ignore_case in [false, true] {
            let steps = steps(pattern, &text, ignore_case);
            assert!(steps <= steps_max, "{steps} steps for {pattern:.20}");
        }
    }
}

#[test]
fn long_matching_can_be_stopped() {
    let text = "a".repeat(1 << 20);
    for pattern in ["%b%", "%a_b%"] {
        let (mut calls, mut spent) = (0, 0);
        let stopped = compiled(pattern, false).try_matches(&text, |steps| {
            spent += steps;
            calls += 1;
            if calls > 3 { Err(()) } else { Ok(()) }
        });
        assert!(stopped.is_err() && spent < text.len() / 2, "{pattern}: {spent} steps");
    }
}

/// Returns the bounds of the texts that begin with a text. It has no character with a meaning in patterns.
fn prefix_bounds(beginning: &str) -> Option<(String, String)> {
    Pattern::new(&format!("{beginning}%"), false).unwrap().prefix_bounds()
}

#[track_caller]
fn check_bounds(beginning: &str, expected: Option<(&str, &str)>) {
    let found = prefix_bounds(beginning);
    let found = found.as_ref().map(|(from, to)| (from.as_str(), to.as_str()));
    assert_eq!(found, expected, "{beginning:?}");
}

#[test]
fn the_upper_bound_has_the_next_character() {
    check_bounds("", None);
    check_bounds("abc", Some(("abc", "abd")));
    check_bounds("12", Some(("12", "13")));
    check_bounds("az", Some(("az", "a{")));
    check_bounds("\0", Some(("\0", "\u{1}")));
    check_bounds("日本", Some(("日本", "日札")));
    check_bounds("\u{1f600}", Some(("\u{1f600}", "\u{1f601}")));
    // There is no next character, or it differs in more than the last byte.
    check_bounds("a\u{10ffff}", Some(("a", "b")));
    check_bounds("a\u{d7ff}ÿ", Some(("a", "b")));
    check_bounds("ÿ", None);
    // The replacement character ends the beginning.
    check_bounds("ab\u{fffd}c", Some(("ab", "ac")));
    check_bounds("\u{fffd}", None);
}

#[test]
fn texts_are_within_the_bounds_of_their_beginnings() {
    let texts =
        ["a", "ab", "b", "ÿ", "Ā", "\u{7f}", "\u{80}", "\u{7ff}", "\u{d7fe}", "\u{e000}", "\u{10fffe}"];
    let utf16 =
        |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<_>>();
    for beginning in texts {
        let Some((from, to)) = prefix_bounds(beginning) else { continue };
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
