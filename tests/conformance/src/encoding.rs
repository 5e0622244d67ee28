//! Encodings, hashes and signatures, implemented from the specification alone.

pub mod jwt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use ring::rand::SecureRandom as _;
use ring::{digest, hmac, rand};

/// Encodes base64 with padding.
#[must_use]
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Encodes base64 without padding.
#[must_use]
pub fn base64_unpadded(bytes: impl AsRef<[u8]>) -> String {
    STANDARD_NO_PAD.encode(bytes)
}

/// Encodes base64 of the URL-safe alphabet without padding.
#[must_use]
pub fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes base64 with or without padding.
#[must_use]
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// Returns the SHA-256 in lowercase hex.
#[must_use]
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(digest::digest(&digest::SHA256, bytes.as_ref()).as_ref())
}

/// Returns the HMAC-SHA256 in lowercase hex.
#[must_use]
pub fn hmac_sha256(key: &str, message: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    hex(hmac::sign(&key, message.as_bytes()).as_ref())
}

/// Returns random text of the URL-safe alphabet.
#[must_use]
pub fn random(length: usize) -> String {
    let mut bytes = vec![0; length];
    // If no randomness is available, the text repeats and the cases that need a fresh one fail.
    let _ = rand::SystemRandom::new().fill(&mut bytes);
    base64url(bytes).chars().take(length).collect()
}

/// Returns the value of `X-Mesh-Signature` for a message.
#[must_use]
pub fn signature(signing_token: &str, message: &str) -> String {
    format!("sha256={}", hmac_sha256(signing_token, message))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_test_vectors_are_reproduced() {
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            hmac_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            (base64("fo"), base64_unpadded("fo"), from_base64("Zm8")),
            ("Zm8=".to_owned(), "Zm8".to_owned(), Some(b"fo".to_vec()))
        );
    }
}
