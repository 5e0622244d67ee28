//! Templates of computed fields: text with `{field}` placeholders. `SPEC §13.5`

/// A part of a template, with names not yet resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Literal text.
    Text(String),
    /// A placeholder.
    Name(String),
}

/// Parses a template, in which `{{` and `}}` denote single braces.
///
/// # Errors
/// A sentence that describes the mistake.
pub(crate) fn parse(template: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, brace)) = rest.find(['{', '}']).and_then(|at| rest.split_at_checked(at)) {
        text.push_str(before);
        if let Some(after) = brace.strip_prefix("{{") {
            text.push('{');
            rest = after;
        } else if let Some(after) = brace.strip_prefix("}}") {
            text.push('}');
            rest = after;
        } else {
            let (name, after) = brace
                .strip_prefix('{')
                .and_then(|inner| inner.split_once('}'))
                .filter(|(name, _)| !name.is_empty() && !name.contains('{'))
                .ok_or(
                    "The template has an unmatched brace or an empty placeholder; write {{ or }} for a literal brace",
                )?;
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Name(name.to_owned()));
            rest = after;
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn name(name: &str) -> Part {
        Part::Name(name.to_owned())
    }

    #[test]
    fn templates_split_into_text_and_names() {
        assert_eq!(parse("{a} {b}"), Ok(vec![name("a"), text(" "), name("b")]));
        assert_eq!(parse("{{x}} {a}!"), Ok(vec![text("{x} "), name("a"), text("!")]));
        assert_eq!(parse("ü{é}"), Ok(vec![text("ü"), name("é")]));
        assert_eq!(parse(""), Ok(vec![]));
    }

    #[test]
    fn lone_braces_are_refused() {
        for template in ["{", "}", "{a", "a}", "{}", "{a{b}", "{a}}", "x{{{"] {
            assert!(parse(template).is_err(), "{template}");
        }
    }
}
