//! Patterns of `LIKE`.

use mesh_plan::backend::Pattern;

/// Escapes a `\` at the end of a pattern, which some databases refuse.
pub(crate) fn escape_end(pattern: &str) -> String {
    let mut text = pattern.to_owned();
    if text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
        text.push('\\');
    }
    text
}

/// Returns a bound of the texts that begin as the pattern does: the exclusive upper one if `is_end` is set, else the inclusive
/// lower one. `None` if the pattern has no such beginning.
pub(crate) fn prefix_bound(pattern: &str, is_end: bool) -> Option<String> {
    let (from, mut to) = Pattern::new(pattern, false).ok()?.prefix_bounds()?;
    // A numeric column would compare a text that reads as a number as a number, and numbers sort before all texts. With this
    // character at its end, the text does not read as a number.
    to.push('\u{1}');
    Some(if is_end { to } else { from })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_escape_at_the_end_is_escaped() {
        assert_eq!([r"a\", r"a\\", "a"].map(escape_end), [r"a\\", r"a\\", "a"]);
    }
}
