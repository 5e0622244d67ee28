//! Which name was probably meant? The nearest of the allowed ones, if it is near enough.

/// Longer names get no hint: looking for one takes steps by the lengths of both names multiplied, and whoever asks
/// for what is not there decides how long it is.
const LONGEST: usize = 48;

/// How many names are compared at most.
const MOST: usize = 2_000;

/// The name that takes the fewest changes of single letters to reach, swapped neighbors counting as one and letter
/// case aside. Up to a third of the word may change; of equals the first wins.
///
/// ```
/// use mesh_schema::nearest;
///
/// assert_eq!(nearest("titel", ["title", "author"]), Some("title"));
/// assert_eq!(nearest("zebra", ["title", "author"]), None);
/// ```
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let letters = word.chars().take(LONGEST + 1).count();
    if letters > LONGEST {
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
    let near = names.into_iter().take(MOST).filter_map(steps);
    near.min_by_key(|(steps, _)| *steps).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_found() {
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
