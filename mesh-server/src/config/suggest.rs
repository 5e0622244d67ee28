//! Which name was probably meant? The nearest of the allowed ones, if it is near enough.

/// The candidate that takes the fewest changes of single letters to reach, swapped neighbors counting as one.
/// More than a third of the word may not change; of equals the first wins.
pub(crate) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word: Vec<char> = word.chars().map(|c| c.to_ascii_lowercase()).collect();
    let allowed = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters: Vec<char> = candidate.chars().map(|c| c.to_ascii_lowercase()).collect();
            // Also keeps the work small: a long word has few candidates of its length.
            if letters.len().abs_diff(word.len()) > allowed {
                return None;
            }
            let distance = distance(&word, &letters);
            (distance <= allowed && distance < letters.len()).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbors, row by row.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, &from) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        let mut diagonal = i;
        for (j, &to) in right.iter().enumerate() {
            let up = above.get(j + 1).copied().unwrap_or(usize::MAX - 1);
            let side = row.last().copied().unwrap_or(usize::MAX - 1);
            let mut least = (up + 1).min(side + 1).min(diagonal + usize::from(from != to));
            let (last_left, last_right) = (i.checked_sub(1), j.checked_sub(1));
            if let (Some(a), Some(b)) = (last_left, last_right)
                && left.get(a) == Some(&to)
                && right.get(b) == Some(&from)
                && let Some(swapped) = before.get(b)
            {
                least = least.min(swapped + 1);
            }
            diagonal = up;
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_single_changes() {
        let count = |left: &str, right: &str| {
            distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        assert_eq!(count("", ""), 0);
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("lsiten", "listen"), 1);
        assert_eq!(count("ab", "ba"), 1);
    }

    #[test]
    fn suggests_only_what_is_near() {
        let names = ["listen", "limits", "log", "log_format", "base"];
        assert_eq!(nearest("lisen", names), Some("listen"));
        assert_eq!(nearest("LISTEN", names), Some("listen"));
        assert_eq!(nearest("log-format", names), Some("log_format"));
        assert_eq!(nearest("limit", names), Some("limits"));
        assert_eq!(nearest("bse", names), Some("base"));
        assert_eq!(nearest("replicas", names), None);
        assert_eq!(nearest("", ["x"]), None);
        assert_eq!(nearest("é", ["e"]), None);
        assert_eq!(nearest(&"l".repeat(100_000), names), None);
    }
}
