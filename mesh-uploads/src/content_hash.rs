//! Content hashes and the storage keys derived from them. Both are the SHA-256 of the bytes.

use std::fmt;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::digest::{Context, SHA256};

const SCHEME: &str = "sha256";
const BYTES: usize = 32;

/// The SHA-256 of a file, written `sha256:<64 hex digits>`. `SPEC §9.1`
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; BYTES]);

impl ContentHash {
    /// Computes the hash of bytes in memory.
    pub fn digest(bytes: &[u8]) -> Self {
        let mut hasher = ContentHasher::new();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Parses `sha256:<64 hex digits>` in either case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(SCHEME)?.strip_prefix(':')?;
        HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?.try_into().ok().map(Self)
    }

    /// Returns the key under which bytes with this hash are stored.
    pub fn key(self) -> StorageKey {
        StorageKey(self)
    }

    /// Returns the 64 hex digits in lowercase.
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// Parses 64 lowercase hex digits.
    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        HEXLOWER.decode(digits.as_bytes()).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}:{}", self.hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The key of a stored file: `sha256/<2 hex digits>/<62 hex digits>`. `SPEC §9.5`
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StorageKey(ContentHash);

impl StorageKey {
    /// Parses a key in its exact form, with lowercase digits.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(SCHEME)?.strip_prefix('/')?;
        let (folder, file) = rest.split_once('/')?;
        if folder.len() != 2 {
            return None;
        }
        ContentHash::from_hex(&format!("{folder}{file}")).map(Self)
    }

    /// Returns the hash of the file.
    pub fn hash(self) -> ContentHash {
        self.0
    }
}

impl fmt::Display for StorageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.0.hex();
        let (folder, file) = hex.split_at(2);
        write!(f, "{SCHEME}/{folder}/{file}")
    }
}

impl fmt::Debug for StorageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Computes a [`ContentHash`] incrementally.
#[derive(Clone)]
pub struct ContentHasher(Context);

impl Default for ContentHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ContentHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContentHasher")
    }
}

impl ContentHasher {
    /// Creates a hasher without input.
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash of all bytes.
    pub fn finish(self) -> ContentHash {
        // SHA-256 has 32 bytes.
        ContentHash(self.0.finish().as_ref().try_into().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn hash_and_key_of_an_empty_file() {
        let hash = ContentHash::digest(b"");
        assert_eq!(hash.to_string(), format!("sha256:{EMPTY}"));
        assert_eq!(hash.key().to_string(), format!("sha256/{}/{}", &EMPTY[..2], &EMPTY[2..]));
    }

    #[test]
    fn displayed_hashes_and_keys_parse_to_themselves() {
        let hash = ContentHash::digest(b"some bytes");
        assert_eq!(ContentHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(ContentHash::parse(&format!("sha256:{}", hash.hex().to_uppercase())), Some(hash));
        assert_eq!(StorageKey::parse(&hash.key().to_string()), Some(hash.key()));
    }

    #[test]
    fn malformed_hashes_are_refused() {
        for text in ["", "sha256:", "sha256", EMPTY, "md5:00", "sha256:é", &format!("sha256:{}", &EMPTY[1..])]
        {
            assert_eq!(ContentHash::parse(text), None, "{text}");
        }
        assert_eq!(ContentHash::parse(&format!("sha256:{EMPTY}0")), None);
        assert_eq!(ContentHash::parse(&format!("sha256:{}g", &EMPTY[1..])), None);
    }

    #[test]
    fn malformed_keys_are_refused() {
        let upper = ContentHash::digest(b"").key().to_string().to_uppercase();
        let (two, rest) = EMPTY.split_at(2);
        for text in [
            "",
            "sha256",
            "sha256//",
            "sha256/../../etc/passwd",
            &upper,
            &format!("sha256/{EMPTY}"),
            &format!("sha256/{two}/{rest}/"),
            &format!("sha256/{two}/{rest}.type"),
            &format!("sha256/{}/{}", &EMPTY[..3], &EMPTY[3..]),
            &format!("/sha256/{two}/{rest}"),
        ] {
            assert_eq!(StorageKey::parse(text), None, "{text}");
        }
    }
}
