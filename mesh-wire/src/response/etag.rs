//! Entity tags of replies and of their encoded bodies, and the tags of `If-None-Match`. `SPEC §12.4`

use data_encoding::HEXLOWER;
use http::header::{HeaderMap, HeaderValue, IF_NONE_MATCH};

use super::encoding::Encoding;
use crate::headers;

/// A strong entity tag: equal tags mean equal bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag(pub(super) HeaderValue);

impl ETag {
    /// Computes the tag of a body.
    pub fn new(body: &[u8]) -> Self {
        Self::from_digest(Self::digest(body))
    }

    /// Returns the tag of a body with this digest.
    pub fn from_digest(digest: u128) -> Self {
        let mut text = [b'"'; 34];
        if let Some(inner) = text.get_mut(1..33) {
            HEXLOWER.encode_mut(&digest.to_be_bytes(), inner);
        }
        Self(headers::ascii(text))
    }

    /// Computes the digest of a body, from which its tag is made: 128 bits of XXH3, equal on all servers.
    ///
    /// A cryptographic digest would take longer than many reads, and would not protect readers from a client that can
    /// write the data.
    pub fn digest(body: &[u8]) -> u128 {
        twox_hash::XxHash3_128::oneshot(body)
    }

    /// Returns the value of the `ETag` header, with quotes.
    pub fn value(&self) -> HeaderValue {
        self.0.clone()
    }

    /// Returns whether `If-None-Match` names this tag, as a strong or weak tag in a list over one or more lines, or by
    /// `*`. Malformed lines are ignored.
    pub fn matches(&self, headers: &HeaderMap) -> bool {
        self.matching_tag(headers).is_some()
    }

    /// Returns this tag in the form in which `If-None-Match` lists it, which may be the tag of an encoded body. A cache
    /// refreshes the entry whose tag equals the tag of the 304.
    pub fn matching_tag(&self, headers: &HeaderMap) -> Option<Self> {
        headers.get_all(IF_NONE_MATCH).iter().find_map(|line| {
            let line = line.as_bytes().trim_ascii();
            if line == b"*" {
                return Some(self.clone());
            }
            let tag = tags(line).find(|tag| self.is_equal(tag))?;
            HeaderValue::from_bytes(tag).ok().map(Self)
        })
    }

    /// Returns whether `tag` is this tag, or the tag of the same body in a content encoding.
    fn is_equal(&self, tag: &[u8]) -> bool {
        match plain_tag(tag) {
            (plain, false) => plain == self.0.as_bytes(),
            (plain, true) => self.0.as_bytes().strip_suffix(b"\"") == Some(plain),
        }
    }
}

/// Splits one line into tags with their quotes. A tag may contain commas.
pub(super) fn tags(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.trim_ascii_start();
        let start = start.strip_prefix(b"W/").unwrap_or(start);
        let inner = start.strip_prefix(b"\"")?;
        let length = inner.iter().position(|byte| *byte == b'"')? + 2;
        let (tag, after) = start.split_at_checked(length)?;
        let after = after.trim_ascii_start();
        rest = after.strip_prefix(b",").unwrap_or_default();
        Some(tag)
    })
}

impl Encoding {
    /// Returns the entity tag of a body in this encoding, derived from the tag of the unencoded body.
    pub fn tag(self, plain: &HeaderValue) -> HeaderValue {
        let inner = plain.to_str().ok().and_then(|tag| tag.strip_suffix('"'));
        let encoded = inner.map(|tag| format!("{tag}-{}\"", self.as_str()));
        encoded.and_then(|tag| tag.parse().ok()).unwrap_or_else(|| plain.clone())
    }
}

/// Removes the name of an encoding from the end of a tag. Returns the tag and whether there was such a name. If so, the
/// returned tag has no closing quote.
pub(crate) fn plain_tag(tag: &[u8]) -> (&[u8], bool) {
    let encoded = Encoding::ALL.iter().find_map(|encoding| {
        let inner = tag.strip_suffix(b"\"")?.strip_suffix(encoding.as_str().as_bytes())?;
        inner.strip_suffix(b"-")
    });
    encoded.map_or((tag, false), |inner| (inner, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_an_encoded_body_names_the_encoding() {
        let plain = HeaderValue::from_static("\"abc\"");
        let packed = Encoding::Zstd.tag(&plain);
        assert_eq!(packed, "\"abc-zstd\"");
        assert_eq!(plain_tag(packed.as_bytes()), (&b"\"abc"[..], true));
        assert_eq!(plain_tag(plain.as_bytes()), (&b"\"abc\""[..], false));
        assert_eq!(plain_tag(b"\"gzip\""), (&b"\"gzip\""[..], false));
    }
}
