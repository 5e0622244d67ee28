//! Negotiation of content encodings, and the entity tags of encoded bodies. `SPEC §12.4`

use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};

/// A content encoding that replies can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
    /// Gzip.
    Gzip,
}

impl Encoding {
    /// All encodings, in the order of the server's preference.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// Returns the name in `Accept-Encoding` and `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// Selects the encoding with the highest weight in `Accept-Encoding`; of equals, the first in [`Encoding::ALL`].
    /// Returns `None` if the client accepts none of them or prefers an unencoded body.
    pub fn negotiate(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(ACCEPT_ENCODING).iter().peekable();
        lines.peek()?;
        let mut weights = Weights::default();
        for line in lines {
            for item in line.to_str().ok()?.split(',') {
                weights.add(item);
            }
        }
        weights.best()
    }

    /// Returns the entity tag of a body in this encoding, derived from the tag of the unencoded body.
    pub fn tag(self, plain: &HeaderValue) -> HeaderValue {
        let inner = plain.to_str().ok().and_then(|tag| tag.strip_suffix('"'));
        let encoded = inner.map(|tag| format!("{tag}-{}\"", self.name()));
        encoded.and_then(|tag| tag.parse().ok()).unwrap_or_else(|| plain.clone())
    }
}

/// Removes the name of an encoding from a tag. Returns the tag, without its closing quote if there was such a name, and
/// whether there was one.
pub(crate) fn plain_tag(tag: &[u8]) -> (&[u8], bool) {
    let encoded = Encoding::ALL.iter().find_map(|encoding| {
        let inner = tag.strip_suffix(b"\"")?.strip_suffix(encoding.name().as_bytes())?;
        inner.strip_suffix(b"-")
    });
    encoded.map_or((tag, false), |inner| (inner, true))
}

/// The weights in `Accept-Encoding`, in thousandths.
#[derive(Default)]
struct Weights {
    named: [Option<u16>; 3],
    identity: Option<u16>,
    any: Option<u16>,
}

impl Weights {
    fn add(&mut self, item: &str) {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        let name = name.trim();
        // An encoding with an invalid weight is not used.
        let weight = if parameters.is_empty() { 1000 } else { weight(parameters).unwrap_or(0) };
        let slot = match name {
            "*" => &mut self.any,
            name if name.eq_ignore_ascii_case("identity") => &mut self.identity,
            name => {
                let known = Encoding::ALL.iter().zip(&mut self.named);
                let mut known = known.filter(|(encoding, _)| encoding.name().eq_ignore_ascii_case(name));
                match known.next() {
                    Some((_, slot)) => slot,
                    None => return,
                }
            }
        };
        *slot = Some(weight);
    }

    fn best(&self) -> Option<Encoding> {
        let weighed = Encoding::ALL.into_iter().zip(self.named);
        let weighed = weighed.map(|(encoding, named)| (encoding, named.or(self.any).unwrap_or(0)));
        let mut best: Option<(Encoding, u16)> = None;
        for (encoding, weight) in weighed.filter(|(_, weight)| *weight > 0) {
            if best.is_none_or(|(_, most)| weight > most) {
                best = Some((encoding, weight));
            }
        }
        let (encoding, weight) = best?;
        (self.identity.is_none_or(|identity| weight >= identity)).then_some(encoding)
    }
}

/// Parses a weight such as `q=0.5` into thousandths.
fn weight(parameters: &str) -> Option<u16> {
    let value = parameters.trim().strip_prefix(['q', 'Q'])?.trim_start().strip_prefix('=')?.trim();
    let value: f32 = value.parse().ok().filter(|value| (0.0..=1.0).contains(value))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within 0 and 1")]
    Some((value * 1000.0) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(accept: &[&'static str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for line in accept {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
        }
        Encoding::negotiate(&headers).map(Encoding::name)
    }

    #[test]
    fn the_encoding_with_the_highest_weight_is_selected() {
        assert_eq!(best(&[]), None);
        assert_eq!(best(&[""]), None);
        assert_eq!(best(&["identity"]), None);
        assert_eq!(best(&["deflate, compress"]), None);
        assert_eq!(best(&["gzip"]), Some("gzip"));
        assert_eq!(best(&["GZIP ; Q=0.5"]), Some("gzip"));
        assert_eq!(best(&["gzip, deflate, br, zstd"]), Some("br"));
        assert_eq!(best(&["gzip", "zstd"]), Some("zstd"));
        assert_eq!(best(&["gzip;q=1, br;q=0.9"]), Some("gzip"));
        assert_eq!(best(&["*"]), Some("br"));
        assert_eq!(best(&["*;q=0.1, br;q=0"]), Some("zstd"));
        assert_eq!(best(&["gzip;q=0, identity"]), None);
        assert_eq!(best(&["gzip;q=0.5, identity;q=0.8"]), None);
        assert_eq!(best(&["gzip;q=nonsense, br;level=4"]), None);
        assert_eq!(best(&["gzip;q=1e9"]), None);
    }

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
