//! Suggestions for misspelled names.

use crate::error::Quoted;

/// Returns the message about a name that is none of `choices`. It suggests the nearest one if that is near, and
/// lists all otherwise.
pub(crate) fn unknown(thing: &str, name: &str, choices: &[&str]) -> String {
    let name_quoted = Quoted(name);
    match nearest(name, choices) {
        Some(choice) => format!("Unknown {thing} {name_quoted}; did you mean '{choice}'?"),
        None => format!("Unknown {thing} {name_quoted}; expected {}", one_of(choices)),
    }
}

/// `'a', 'b' or 'c'`.
fn one_of(choices: &[&str]) -> String {
    let quoted: Vec<String> = choices.iter().map(|choice| format!("'{choice}'")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// Returns the choice that `name` is probably a misspelling of.
fn nearest<'c>(name: &str, choices: &[&'c str]) -> Option<&'c str> {
    // The distance costs the product of both lengths.
    const MAX_CHARS: usize = 24;
    let name: Vec<char> = name.chars().take(MAX_CHARS + 1).flat_map(char::to_lowercase).collect();
    if name.len() > MAX_CHARS {
        return None;
    }
    let candidates = choices.iter().filter_map(|choice| {
        let letters: Vec<char> = choice.chars().flat_map(char::to_lowercase).collect();
        let typo = letters.len() >= 3 && (name.starts_with(&letters) || are_swapped(&name, &letters));
        let distance = if typo { 1 } else { strsim::generic_levenshtein(&name, &letters) };
        let close = typo || distance <= letters.len().max(name.len()) / 3;
        close.then_some((distance, *choice))
    });
    candidates.min_by_key(|(distance, _)| *distance).map(|(_, choice)| choice)
}

/// Whether one is a permutation of the other.
fn are_swapped(one: &[char], other: &[char]) -> bool {
    let sorted = |letters: &[char]| {
        let mut letters = letters.to_vec();
        letters.sort_unstable();
        letters
    };
    one.len() == other.len() && sorted(one) == sorted(other)
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
