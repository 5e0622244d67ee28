//! Declared content types, and the types that browsers may display. The bytes are not inspected, and downloads forbid
//! content sniffing.

use std::fmt;

/// The maximum length in bytes. It is bounded because the type becomes part of the name of a temporary file.
const MAX_BYTES: usize = 100;

/// Types that are safe to display in browsers: they contain neither scripts nor links, unlike SVG and PDF.
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

/// A content type without parameters, in lowercase: `image/png`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContentType(String);

impl ContentType {
    /// Returns `application/octet-stream`, the type of files without a declared type.
    pub fn unknown() -> Self {
        Self("application/octet-stream".to_owned())
    }

    /// Parses the value of a `Content-Type` header and drops the parameters.
    pub fn parse(value: &str) -> Option<Self> {
        let essence = value.split_once(';').map_or(value, |(essence, _)| essence).trim();
        let (main, sub) = essence.split_once('/')?;
        if essence.len() > MAX_BYTES || !is_name(main) || !is_name(sub) {
            return None;
        }
        Some(Self(essence.to_ascii_lowercase()))
    }

    /// Returns the type as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether browsers may display a file of this type rather than save it. `SPEC §9.7`
    pub fn is_safe_inline(&self) -> bool {
        INLINE.contains(&self.as_str())
    }

    /// Returns whether a list contains this type. An entry such as `image/*` contains all images.
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

/// Returns whether a text consists of the characters of registered types, none of which has a meaning in paths.
fn is_name(text: &str) -> bool {
    let starts = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    starts && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_case_are_dropped() {
        let parsed = ContentType::parse("Text/Plain; charset=utf-8").unwrap();
        assert_eq!(parsed.as_str(), "text/plain");
    }

    #[test]
    fn malformed_types_are_refused() {
        let long = format!("text/{}", "x".repeat(MAX_BYTES));
        for text in ["", "text", "/", "text/", "/plain", "text/a/b", "a b/c", "text/\u{e9}", "../x", &long] {
            assert_eq!(ContentType::parse(text), None, "{text}");
        }
    }

    #[test]
    fn lists_may_contain_wildcards() {
        let png = ContentType::parse("image/png").unwrap();
        assert!(png.is_among(&["image/*".to_owned()]));
        assert!(png.is_among(&["text/plain".to_owned(), "IMAGE/PNG".to_owned()]));
        assert!(!png.is_among(&["image/jpeg".to_owned(), "imag/*".to_owned()]));
    }

    #[test]
    fn active_content_is_not_displayed() {
        for text in ["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/pdf"] {
            assert!(!ContentType::parse(text).unwrap().is_safe_inline(), "{text}");
        }
        assert!(ContentType::parse("image/png").unwrap().is_safe_inline());
    }
}
