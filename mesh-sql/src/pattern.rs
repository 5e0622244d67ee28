//! Patterns of `LIKE`.

/// Escapes a `\` at the end of a pattern, which some databases refuse.
pub(crate) fn escape_end(pattern: &str) -> String {
    let mut text = pattern.to_owned();
    if text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
        text.push('\\');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_escape_at_the_end_is_escaped() {
        assert_eq!([r"a\", r"a\\", "a"].map(escape_end), [r"a\\", r"a\\", "a"]);
    }
}
