//! Comparison of printed output with the output that a page shows, in which `…` matches anything.

/// Compares the output that a page shows with the printed one.
///
/// # Errors
/// Returns both outputs if they differ.
pub(super) fn compare(expected: &str, printed: &str, json: bool) -> Result<(), String> {
    let printed = printed.replace('\r', "");
    let same = if json {
        matches(&packed(expected), &packed(&printed))
    } else {
        let lines: Vec<&str> = trimmed(expected);
        let real: Vec<&str> = trimmed(&printed);
        same_lines(&lines, &real)
    };
    if same { Ok(()) } else { Err(format!("the page shows\n{expected}\nbut this was printed:\n{printed}")) }
}

/// Returns how many of the printed lines match the expected ones, for output that still grows.
pub(super) fn matching_prefix(expected: &str, printed: &str) -> Option<usize> {
    let (lines, real) = (trimmed(expected), trimmed(printed));
    (0..=real.len()).find(|count| same_lines(&lines, real.get(..*count).unwrap_or_default()))
}

/// Returns the lines without trailing white space, and without empty lines at the beginning and the end.
fn trimmed(text: &str) -> Vec<&str> {
    text.trim_matches('\n').lines().map(str::trim_end).collect()
}

fn same_lines(expected: &[&str], real: &[&str]) -> bool {
    match expected.split_first() {
        None => real.is_empty(),
        Some((&"…", rest)) => {
            (0..=real.len()).any(|skip| same_lines(rest, real.get(skip..).unwrap_or_default()))
        }
        Some((first, rest)) => {
            real.split_first().is_some_and(|(line, others)| matches(first, line) && same_lines(rest, others))
        }
    }
}

/// Returns whether a text matches a pattern in which `…` is any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

/// Removes white space between the tokens of JSON.
fn packed(json: &str) -> String {
    let mut packed = String::new();
    let (mut text, mut escaped) = (false, false);
    for character in json.chars() {
        if !text && character.is_ascii_whitespace() {
            continue;
        }
        packed.push(character);
        if character == '"' && !escaped {
            text = !text;
        }
        escaped = character == '\\' && !escaped;
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ellipsis_matches_any_text() {
        for (pattern, text) in
            [("a", "a"), ("a…", "abc"), ("…c", "abc"), ("a…c", "abc"), ("a…b…c", "a1b2bc"), ("…", "")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a…", "ba"), ("a…b", "abc"), ("a…a", "a"), ("", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_line_of_ellipsis_matches_any_number_of_lines() {
        assert!(compare("a\n…\nd", "a\nb\nc\nd\n", false).is_ok());
        assert!(compare("a\n…\nd", "a\nd\n", false).is_ok());
        assert!(compare("…\nd", "a\r\nd  \n", false).is_ok());
        assert!(compare("a\nd", "a\nb\nd\n", false).is_err());
        assert_eq!(matching_prefix("a\n…\nc", "a\nb\nc\nd\nc"), Some(3));
        assert_eq!(matching_prefix("a\nb", "a\n"), None);
    }

    #[test]
    fn white_space_of_json_is_ignored_outside_of_strings() {
        assert!(compare("{\"a\":\n  [1, 2]}", "{\"a\":[1,2]}\n", true).is_ok());
        assert!(compare(r#"{"a": "\" b"}"#, r#"{"a":"\"b"}"#, true).is_err());
        assert!(compare(r#"{"a": 1, …}"#, r#"{"a":1,"b":2}"#, true).is_ok());
    }
}
