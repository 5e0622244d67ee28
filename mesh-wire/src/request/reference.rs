//! References of a batch to the results of earlier steps. `SPEC §18.4`

use std::borrow::Cow;

/// The maximum length of a step's name, the same as for an alias.
const NAME_MAX: usize = 64;

/// A text of a batch that refers to a field of a result: `$name.field`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepReference<'t> {
    /// The name of the step.
    pub name: &'t str,
    /// The field of its result.
    pub field: &'t str,
}

/// A text that begins with `$` and is not a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a reference such as $name.id; write $$ for a $ at the beginning of a text")]
pub struct ReferenceError(String);

/// A text of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchText<'t> {
    /// A literal text. A `$` at its beginning was written as `$$`.
    Literal(&'t str),
    /// A reference.
    Reference(StepReference<'t>),
}

impl<'t> BatchText<'t> {
    /// Parses a text.
    ///
    /// # Errors
    /// [`ReferenceError`] if the text begins with a single `$` and is not a reference.
    pub fn parse(text: &'t str) -> Result<Self, ReferenceError> {
        let Some(rest) = text.strip_prefix('$') else { return Ok(Self::Literal(text)) };
        if rest.starts_with('$') {
            return Ok(Self::Literal(rest));
        }
        match rest.split_once('.') {
            Some((name, field)) if is_name(name) && !field.is_empty() => {
                Ok(Self::Reference(StepReference { name, field }))
            }
            _ => Err(ReferenceError(text.chars().take(64).flat_map(char::escape_debug).collect())),
        }
    }
}

/// Returns whether a text can name a step.
pub(super) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= NAME_MAX
        && text.bytes().all(is_plain)
        && text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}

/// Replaces the strings of a JSON text that begin with `$`, except names of members. `resolve` returns the JSON text of
/// the value of a reference. All other text is unchanged.
///
/// # Errors
/// The errors of [`BatchText::parse`] and of `resolve`.
pub fn replace_references<'j, E: From<ReferenceError>>(
    json: &'j str,
    mut resolve: impl FnMut(StepReference<'_>) -> Result<String, E>,
) -> Result<Cow<'j, str>, E> {
    let mut replaced = String::new();
    let (mut kept, mut rest) = (0, json);
    while let Some(start) = rest.find('"') {
        let from = json.len() - rest.len() + start;
        let token = string(rest.get(start..).unwrap_or_default());
        rest = rest.get(start + token.len()..).unwrap_or_default();
        if rest.trim_ascii_start().starts_with(':') || !(token.contains('$') || token.contains("\\u0024")) {
            continue;
        }
        // The strings of a valid JSON text can always be decoded.
        let text: Cow<'_, str> = serde_json::from_str(token).unwrap_or_default();
        let value = match BatchText::parse(&text)? {
            BatchText::Literal(literal) if literal.len() == text.len() => continue,
            BatchText::Literal(literal) => serde_json::Value::from(literal).to_string(),
            BatchText::Reference(reference) => resolve(reference)?,
        };
        replaced.push_str(json.get(kept..from).unwrap_or_default());
        replaced.push_str(&value);
        kept = from + token.len();
    }
    if kept == 0 {
        return Ok(Cow::Borrowed(json));
    }
    replaced.push_str(json.get(kept..).unwrap_or_default());
    Ok(Cow::Owned(replaced))
}

/// Returns the string at the beginning of a JSON text, with its quotes.
fn string(json: &str) -> &str {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.and_then(|end| json.get(..end + 2)).unwrap_or(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(json: &str) -> Result<String, ReferenceError> {
        replace_references(json, |reference| Ok(format!("<{} {}>", reference.name, reference.field)))
            .map(Cow::into_owned)
    }

    #[test]
    fn strings_that_are_references_are_replaced_at_any_depth() {
        let json = r#"{"a": "$p.id", "$p.id" : 1.10, "c": [ "$q.n n", {"d":"\u0024p.id"} ], "e": "x $p.id"}"#;
        let expected = r#"{"a": <p id>, "$p.id" : 1.10, "c": [ <q n n>, {"d":<p id>} ], "e": "x $p.id"}"#;
        assert_eq!(replace(json).unwrap(), expected);
    }

    #[test]
    fn two_signs_stand_for_one() {
        let json = r#"{"a": "$$p.id", "b": "$$", "c": "\\\"$p.id"}"#;
        assert_eq!(replace(json).unwrap(), r#"{"a": "$p.id", "b": "$", "c": "\\\"$p.id"}"#);
    }

    #[test]
    fn other_texts_with_a_sign_are_refused() {
        for text in ["$", "$5.00", "$p", "$p.", "$.id", "$p-q.id"] {
            let error = replace(&format!("[{}]", serde_json::Value::from(text))).unwrap_err();
            assert!(error.to_string().starts_with(&format!("'{text}' is not a reference")), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn texts_without_references_are_kept(texts in proptest::collection::vec("[^$]*", 0..4)) {
            let json = serde_json::to_string(&texts).unwrap();
            proptest::prop_assert_eq!(replace(&json).unwrap(), json);
        }

        #[test]
        fn doubled_signs_are_literal(text in "\\$.*") {
            let json = serde_json::to_string(&[format!("${text}")]).unwrap();
            let replaced = replace(&json).unwrap();
            proptest::prop_assert_eq!(serde_json::from_str::<Vec<String>>(&replaced).unwrap(), [text]);
        }
    }
}
