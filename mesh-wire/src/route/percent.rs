//! Percent-encoding of path segments and parameter names.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Every character except the unreserved ones of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why a path segment or a parameter name cannot be decoded, as a sentence for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable(pub(crate) &'static str);

/// Decodes a path segment or a parameter name once. Unlike [`percent_decode_str`], it refuses incomplete escapes.
pub(crate) fn decode(text: &str) -> Result<Cow<'_, str>, Undecodable> {
    if !text.bytes().any(|byte| byte == b'%') {
        return Ok(Cow::Borrowed(text));
    }
    let is_escape =
        |digits: &str| digits.len() >= 2 && digits.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_escape) {
        return Err(Undecodable("a '%' is not followed by two hex digits"));
    }
    percent_decode_str(text).decode_utf8().map_err(|_| Undecodable("its bytes are not UTF-8 text"))
}

/// Encodes a text as one path segment.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(decode("a%2Fb%252f").as_deref(), Ok("a/b%2f"));
        assert_eq!(decode("%C3%a9").as_deref(), Ok("é"));
        assert_eq!(decode("%00").as_deref(), Ok("\0"));
    }

    #[test]
    fn incomplete_escapes_and_invalid_utf8_are_refused() {
        for piece in ["%", "%4", "a%zz", "%%41", "%+1", "%ff", "%C3", "%ED%A0%80"] {
            assert!(decode(piece).is_err(), "{piece}");
        }
    }

    proptest! {
        #[test]
        fn encoded_text_decodes_to_itself(text in any::<String>()) {
            let segment = encode(&text);
            prop_assert!(segment.is_ascii() && !segment.contains(['/', '?', '#']));
            prop_assert_eq!(decode(&segment).ok(), Some(Cow::Borrowed(text.as_str())));
        }
    }
}
