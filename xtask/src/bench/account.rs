//! The account of the sample, and signatures. Independent of the server's implementation.

use std::fmt::Write as _;

use ring::hmac;

pub(super) const LOGIN: &str = "bench@example.com";
pub(super) const PASSWORD: &str = "a password that only the bench uses";

/// Settings that enable sessions with the accounts table.
pub(super) const SETTINGS: [(&str, &str); 7] = [
    ("MESH_INTEGRITY__ENABLED", "true"),
    ("MESH_INTEGRITY__SECRET", "a secret of the bench that is long enough"),
    ("MESH_INTEGRITY__TTL", "1h"),
    ("MESH_INTEGRITY__USERS__TABLE", "accounts"),
    ("MESH_INTEGRITY__USERS__LOGIN", "email"),
    ("MESH_INTEGRITY__USERS__PASSWORD", "password_hash"),
    ("MESH_INTEGRITY__USERS__ROLE", "role"),
];

/// Signs a message with the key of a session; returns hex.
pub(super) fn sign(key: &str, message: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    hmac::sign(&key, message.as_bytes()).as_ref().iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::sign;

    #[test]
    fn signature_is_hmac_sha256_in_hex() {
        // The second case of RFC 4231.
        let signature = sign("Jefe", "what do ya want for nothing?");
        assert_eq!(signature, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
