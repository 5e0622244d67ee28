//! How do names travel in a URL? Percent-encoding, both ways, once.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Why a piece of a URL has no text. The sentence is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable(pub(crate) &'static str);

/// The text of one path segment or parameter name.
pub(crate) fn decode(piece: &str) -> Result<Cow<'_, str>, Undecodable> {
    // Pieces are short, so this is faster than a search that is made for long texts.
    if !piece.bytes().any(|byte| byte == b'%') {
        return Ok(Cow::Borrowed(piece));
    }
    let mut text = Vec::with_capacity(piece.len());
    let mut bytes = piece.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let (high, low) = (bytes.next().and_then(hex), bytes.next().and_then(hex));
        let (Some(high), Some(low)) = (high, low) else {
            return Err(Undecodable("a '%' is not followed by two hex digits"));
        };
        text.push(high << 4 | low);
    }
    String::from_utf8(text).map(Cow::Owned).map_err(|_| Undecodable("its bytes are not UTF-8 text"))
}

/// The path segment that decodes to that text whatever the text holds.
pub(crate) fn encode(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            segment.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(segment, "%{byte:02X}");
        }
    }
    segment
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decodes_once() {
        assert_eq!(decode("a%2Fb%252f").as_deref(), Ok("a/b%2f"));
        assert_eq!(decode("%C3%a9").as_deref(), Ok("é"));
        assert_eq!(decode("%00").as_deref(), Ok("\0"));
    }

    #[test]
    fn refuses_what_has_no_text() {
        for piece in ["%", "%4", "a%zz", "%%41", "%+1", "%ff", "%C3", "%ED%A0%80"] {
            assert!(decode(piece).is_err(), "{piece}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(text in any::<String>()) {
            let segment = encode(&text);
            prop_assert!(segment.is_ascii() && !segment.contains(['/', '?', '#']));
            prop_assert_eq!(decode(&segment).ok(), Some(Cow::Borrowed(text.as_str())));
        }
    }
}
