//! Declared content types, and which of them browsers may display. The bytes are not inspected, and downloads forbid
//! browsers to guess.

use std::fmt;

/// No longer type is taken: it becomes part of the name of a temporary file.
const MAX_BYTES: usize = 100;

/// Types that show no more than themselves when a browser opens them: no scripts, no links to elsewhere.
/// SVG and PDF are not among them.
const INLINE: [&str; 19] = [
    "audio/aac",
    "audio/flac",
    "audio/mp4",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/webm",
    "image/apng",
    "image/avif",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "text/plain",
    "video/mp4",
    "video/ogg",
    "video/quicktime",
    "video/webm",
];

/// A content type without parameters, in lower case: `image/png`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContentType(String);

impl ContentType {
    /// The type of a file that comes without one.
    pub fn unknown() -> Self {
        Self("application/octet-stream".to_owned())
    }

    /// Reads the value of a `Content-Type` header; parameters are left off.
    pub fn parse(value: &str) -> Option<Self> {
        let essence = value.split_once(';').map_or(value, |(essence, _)| essence).trim();
        let (main, sub) = essence.split_once('/')?;
        if essence.len() > MAX_BYTES || !is_name(main) || !is_name(sub) {
            return None;
        }
        Some(Self(essence.to_ascii_lowercase()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a browser may show a file of this type in place of saving it. `SPEC §9.7`
    pub fn is_safe_inline(&self) -> bool {
        INLINE.contains(&self.as_str())
    }

    /// Whether a list of allowed types has it; `image/*` stands for all images.
    pub fn is_among(&self, allowed: &[String]) -> bool {
        let (main, _) = self.0.split_once('/').unwrap_or_default();
        allowed.iter().any(|allowed| match allowed.strip_suffix("/*") {
            Some(group) => group.eq_ignore_ascii_case(main),
            None => allowed.eq_ignore_ascii_case(&self.0),
        })
    }
}

impl fmt::Display for ContentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The letters of registered types. None of them means anything in a path.
fn is_name(text: &str) -> bool {
    let starts = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    starts && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_letter_case_are_left_off() {
        let parsed = ContentType::parse("Text/Plain; charset=utf-8").unwrap();
        assert_eq!(parsed.as_str(), "text/plain");
    }

    #[test]
    fn what_is_no_type_is_refused() {
        let long = format!("text/{}", "x".repeat(MAX_BYTES));
        for text in ["", "text", "/", "text/", "/plain", "text/a/b", "a b/c", "text/\u{e9}", "../x", &long] {
            assert_eq!(ContentType::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_may_name_groups() {
        let png = ContentType::parse("image/png").unwrap();
        assert!(png.is_among(&["image/*".to_owned()]));
        assert!(png.is_among(&["text/plain".to_owned(), "IMAGE/PNG".to_owned()]));
        assert!(!png.is_among(&["image/jpeg".to_owned(), "imag/*".to_owned()]));
    }

    #[test]
    fn nothing_that_runs_is_shown() {
        for text in ["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/pdf"] {
            assert!(!ContentType::parse(text).unwrap().is_safe_inline(), "{text}");
        }
        assert!(ContentType::parse("image/png").unwrap().is_safe_inline());
    }
}
