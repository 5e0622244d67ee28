//! The deployment secret and the two keys that HKDF derives from it. The README of the crate defines them for other
//! languages.

use std::fmt;

use ring::{hkdf, hmac};

/// The label of the key that seals tokens.
pub const TOKEN_LABEL: &str = "mesh token 1";
/// The label of the key that derives signing tokens.
pub const SIGNING_LABEL: &str = "mesh signing 1";

/// The secret that all servers of a deployment share. Its `Debug` output does not reveal it.
pub struct Secret(Box<[u8]>);

impl Secret {
    /// The minimum length of a secret in bytes. `SPEC §7.3`
    pub const MIN_BYTES: usize = 32;

    /// Creates a secret from its bytes.
    ///
    /// # Errors
    /// [`SecretTooShort`] if there are fewer than [`Secret::MIN_BYTES`].
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, SecretTooShort> {
        let bytes = bytes.into();
        if bytes.len() < Self::MIN_BYTES {
            return Err(SecretTooShort { length: bytes.len() });
        }
        Ok(Self(bytes.into()))
    }

    /// Returns the bytes, for a key that another party also derives from them.
    #[cfg(feature = "bearer")]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Derives a key for one purpose. Keys of different labels are independent.
    #[expect(clippy::expect_used, reason = "HKDF refuses only outputs of more than 255 hashes; this is one")]
    pub fn derive(&self, label: &str) -> [u8; 32] {
        let mut key = [0; 32];
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&self.0);
        let info = [label.as_bytes()];
        let expanded = extracted.expand(&info, hkdf::HKDF_SHA256);
        expanded.and_then(|output| output.fill(&mut key)).expect("one hash of output");
        key
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The error of a secret that is too short.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "the secret has {length} bytes and needs at least {}; generate one with `openssl rand -hex 32`",
    Secret::MIN_BYTES
)]
pub struct SecretTooShort {
    /// The length of the secret in bytes.
    pub length: usize,
}

/// The keys of a deployment. The keys of the current secret issue tokens; the keys of previous secrets verify tokens
/// during a rotation.
pub struct Keys {
    pub(crate) current: Pair,
    pub(crate) previous: Vec<Pair>,
}

impl Keys {
    /// Derives the keys of one secret.
    pub fn new(secret: &Secret) -> Self {
        Self { current: Pair::new(secret), previous: Vec::new() }
    }

    /// Adds a previous secret, whose tokens are accepted.
    #[must_use]
    pub fn with_previous(mut self, secret: &Secret) -> Self {
        self.previous.push(Pair::new(secret));
        self
    }

    /// Iterates over all pairs, starting with the current one.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = &Pair> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({} previous)", self.previous.len())
    }
}

/// The two keys of one secret.
pub(crate) struct Pair {
    pub(crate) token: hmac::Key,
    pub(crate) signing: hmac::Key,
}

impl Pair {
    fn new(secret: &Secret) -> Self {
        let key = |label| hmac::Key::new(hmac::HMAC_SHA256, &secret.derive(label));
        Self { token: key(TOKEN_LABEL), signing: key(SIGNING_LABEL) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_secrets_are_refused() {
        for length in [0, 1, 31] {
            assert_eq!(Secret::new(vec![b'x'; length]).unwrap_err(), SecretTooShort { length });
        }
        assert!(Secret::new(vec![b'x'; 32]).is_ok());
    }

    #[test]
    fn debug_output_does_not_reveal_secrets() {
        let secret = Secret::new(*b"correct horse battery staple, twice").unwrap();
        let keys = Keys::new(&secret).with_previous(&secret);
        assert_eq!(format!("{secret:?} {keys:?}"), "Secret(..) Keys(1 previous)");
        let error = Secret::new(*b"too short").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("too short"));
    }

    #[test]
    fn different_labels_yield_different_keys() {
        let secret = Secret::new([7; 32]).unwrap();
        assert_ne!(secret.derive(TOKEN_LABEL), secret.derive(SIGNING_LABEL));
        assert_eq!(secret.derive("a"), secret.derive("a"));
    }
}
