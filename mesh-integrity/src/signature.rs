//! Signatures: `sha256=` and the lowercase hex HMAC-SHA256 of a message. `SPEC §7.4`

use std::fmt;

use data_encoding::HEXLOWER;
use ring::hmac;

/// The prefix of all signatures.
const PREFIX: &[u8] = b"sha256=";

/// The key of the signatures of one session.
#[derive(Clone)]
pub struct SigningKey(hmac::Key);

impl SigningKey {
    /// Creates the key from the characters of a signing token.
    pub fn new(signing_token: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, signing_token.as_bytes()))
    }

    /// Signs a message. Returns the value of `X-Mesh-Signature`.
    pub fn sign(&self, message: &[u8]) -> String {
        let tag = hmac::sign(&self.0, message);
        format!("sha256={}", HEXLOWER.encode(tag.as_ref()))
    }

    /// Returns whether `signature` is the signature of a message, in the exact spelling of [`SigningKey::sign`]. MACs are
    /// compared in constant time; the time to decode the digits depends only on what the client sent.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let tag = signature.strip_prefix(PREFIX).and_then(|digits| HEXLOWER.decode(digits).ok());
        tag.is_some_and(|tag| hmac::verify(&self.0, message, &tag).is_ok())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_with_any_altered_digit_is_refused() {
        let key = SigningKey::new("k");
        let signature = key.sign(b"message");
        for index in PREFIX.len()..signature.len() {
            let mut wrong = signature.clone().into_bytes();
            wrong[index] = if wrong[index] == b'0' { b'1' } else { b'0' };
            assert!(!key.verify(b"message", &wrong), "{index}");
        }
        assert!(!key.verify(b"message", &signature.as_bytes()[..70]));
    }

    #[test]
    fn other_spellings_are_refused() {
        let key = SigningKey::new("k");
        let signature = key.sign(b"message");
        assert!(key.verify(b"message", signature.as_bytes()));
        let digits = &signature["sha256=".len()..];
        for wrong in [
            digits.to_owned(),
            digits.to_uppercase(),
            format!("SHA256={digits}"),
            format!("sha256={}", digits.to_uppercase()),
            format!("sha256= {digits}"),
            format!("{signature} "),
            format!("{signature}0"),
            "sha256=".to_owned(),
            String::new(),
        ] {
            assert!(!key.verify(b"message", wrong.as_bytes()), "{wrong}");
        }
        assert!(!key.verify(b"message ", signature.as_bytes()));
        assert_eq!(format!("{key:?}"), "SigningKey(..)");
    }
}
