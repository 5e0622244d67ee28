//! Which name was probably meant? The nearest of the allowed ones, if it is near enough.

/// The candidate that takes the fewest changes of single letters to reach, swapped neighbors counting as one.
/// More than a third of the word may not change; of equals the first wins.
pub(crate) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_ascii_lowercase();
    let letters = word.chars().count();
    let allowed = (letters / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let length = candidate.chars().count();
            // Also keeps the work small: a long word has few candidates of its length.
            if length.abs_diff(letters) > allowed {
                return None;
            }
            let distance = strsim::osa_distance(&word, &candidate.to_ascii_lowercase());
            (distance <= allowed && distance < length).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let names = ["listen", "limits", "log", "log_format", "base"];
        assert_eq!(nearest("lisen", names), Some("listen"));
        assert_eq!(nearest("bsae", names), Some("base"), "swapped letters are one change");
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
