//! Base64 of queries: standard alphabet, optional padding, UTF-8 inside. `SPEC §2.4`

use base64::DecodeError;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, Engine as _, GeneralPurpose, GeneralPurposeConfig};
use thiserror::Error;

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An error in decoding a base64 value. Positions are 1-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Base64Error {
    /// A character outside the alphabet, or misplaced padding.
    #[error("character {position} ('{}') {}", .byte.escape_ascii(), describe(*.byte))]
    Character {
        /// The position of the character.
        position: usize,
        /// The byte at that position.
        byte: u8,
    },
    /// The number of characters, which no encoder produces.
    #[error("{0} characters are not a complete base64 text; it was truncated or is padded incorrectly")]
    Length(usize),
    /// The position of the first decoded byte that is not valid UTF-8.
    #[error("the decoded bytes are not valid UTF-8 at byte {0}")]
    Utf8(usize),
}

fn describe(byte: u8) -> &'static str {
    match byte {
        b'=' => "is misplaced padding",
        b'-' | b'_' => "belongs to the URL-safe alphabet; use the standard one",
        b'\r' | b'\n' => "is a line break; remove it",
        _ => "is not in the standard base64 alphabet",
    }
}

/// Decodes a base64 value, with or without padding, into a text.
///
/// # Errors
/// [`Base64Error`] if the value is not base64 or the decoded bytes are not UTF-8.
pub fn decode(value: &[u8]) -> Result<String, Base64Error> {
    let bytes = ENGINE.decode(value).map_err(|error| first_fault(value, &error))?;
    String::from_utf8(bytes).map_err(|error| Base64Error::Utf8(error.utf8_error().valid_up_to() + 1))
}

/// Encodes a text with the standard alphabet and padding, on one line.
pub fn encode(text: &str) -> String {
    ENGINE.encode(text)
}

/// Finds the first error in a value. The decoder checks the end first, so characters outside the alphabet need a
/// separate search.
fn first_fault(value: &[u8], error: &DecodeError) -> Base64Error {
    let is_foreign = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"+/=".contains(byte);
    if let Some((offset, byte)) = value.iter().enumerate().find(|(_, byte)| is_foreign(byte)) {
        return Base64Error::Character { position: offset + 1, byte: *byte };
    }
    match *error {
        DecodeError::InvalidByte(offset, byte) | DecodeError::InvalidLastSymbol(offset, byte) => {
            Base64Error::Character { position: offset + 1, byte }
        }
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => Base64Error::Length(value.len()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn padding_is_optional_and_trailing_bits_are_ignored() {
        for value in ["QQ==", "QQ=", "QQ", "QR", "QR=="] {
            assert_eq!(decode(value.as_bytes()).as_deref(), Ok("A"), "{value}");
        }
    }

    #[test]
    fn foreign_characters_are_refused_with_their_position() {
        for (value, position, byte) in [
            ("QUJ-", 4, b'-'),
            ("QU_D", 3, b'_'),
            ("QU JD", 3, b' '),
            ("QUJD\n", 5, b'\n'),
            ("QU\r\nJD", 3, b'\r'),
            ("=QUI", 1, b'='),
            ("QUJD=", 5, b'='),
            ("Q===", 2, b'='),
            ("QUI\u{e9}", 4, 0xc3),
        ] {
            assert_eq!(decode(value.as_bytes()), Err(Base64Error::Character { position, byte }), "{value}");
        }
    }

    #[test]
    fn a_lone_last_character_is_refused() {
        assert_eq!(decode(b"QUJDQ"), Err(Base64Error::Length(5)));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        assert_eq!(decode(b"QUL/"), Err(Base64Error::Utf8(3)));
        assert!(decode(b"7aCA").is_err(), "a surrogate is not valid UTF-8");
    }

    proptest! {
        #[test]
        fn encoded_text_decodes_to_itself(text in ".{0,200}") {
            let value = encode(&text);
            let bare = value.trim_end_matches('=');
            prop_assert_eq!(decode(value.as_bytes()), Ok(text.clone()));
            prop_assert_eq!(decode(bare.as_bytes()), Ok(text));
        }

        #[test]
        fn no_input_panics(value in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Err(error) = decode(&value) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
