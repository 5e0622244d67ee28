//! Suggestions for misspelled names.

/// Maximum length of a name that gets a suggestion. The comparison takes time proportional to the product of both
/// lengths, and clients choose one of them.
const MAX_LENGTH: usize = 48;

/// Maximum number of names that are compared.
const MAX_NAMES: usize = 2_000;

/// Returns the name with the smallest edit distance to `word`. A swap of neighboring letters counts as one edit, and
/// letter case is ignored. At most a third of the word may change; of equally near names the first wins.
///
/// ```
/// use mesh_schema::nearest;
///
/// assert_eq!(nearest("titel", ["title", "author"]), Some("title"));
/// assert_eq!(nearest("zebra", ["title", "author"]), None);
/// ```
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let letters = word.chars().take(MAX_LENGTH + 1).count();
    if letters > MAX_LENGTH {
        return None;
    }
    let (wanted, allowed) = (word.to_lowercase(), (letters / 3).max(1));
    let steps = |name: &'n str| {
        let length = name.chars().take(letters + allowed + 1).count();
        if length.abs_diff(letters) > allowed {
            return None;
        }
        let steps = strsim::osa_distance(&wanted, &name.to_lowercase());
        (steps <= allowed && steps < length).then_some((steps, name))
    };
    let near = names.into_iter().take(MAX_NAMES).filter_map(steps);
    near.min_by_key(|(steps, _)| *steps).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["listen", "limits", "log", "log_format", "base", "createdAt"];
        assert_eq!(nearest("lisen", names), Some("listen"));
        assert_eq!(nearest("bsae", names), Some("base"), "swapped letters are one change");
        assert_eq!(nearest("LISTEN", names), Some("listen"));
        assert_eq!(nearest("log-format", names), Some("log_format"));
        assert_eq!(nearest("limit", names), Some("limits"));
        assert_eq!(nearest("bse", names), Some("base"));
        assert_eq!(nearest("created_at", names), Some("createdAt"));
        assert_eq!(nearest("replicas", names), None);
        assert_eq!(nearest("", ["x"]), None);
        assert_eq!(nearest("é", ["e"]), None);
        assert_eq!(nearest(&"l".repeat(49), ["l"; 1]), None);
    }
}
