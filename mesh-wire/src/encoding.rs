//! Negotiation of content encodings, and the entity tags of encoded bodies. `SPEC §12.4`

use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};

/// A way to pack a body.
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
    /// All of them, the one that packs best first.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// The name in `Accept-Encoding` and `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The encoding that the client likes best; of equals the one that packs best. `None` where it takes
    /// none of them, or would rather have the body as it is.
    pub fn negotiate(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(ACCEPT_ENCODING).iter().peekable();
        lines.peek()?;
        let mut wishes = Wishes::default();
        for line in lines {
            for item in line.to_str().ok()?.split(',') {
                wishes.take(item);
            }
        }
        wishes.best()
    }

    /// The tag of a body in this encoding, made of the tag of the body as it is.
    pub fn tag(self, plain: &HeaderValue) -> HeaderValue {
        let packed = plain.to_str().ok().and_then(|tag| tag.strip_suffix('"'));
        let packed = packed.map(|tag| format!("{tag}-{}\"", self.name()));
        packed.and_then(|tag| tag.parse().ok()).unwrap_or_else(|| plain.clone())
    }
}

/// The tag of the body as it is, out of one that may be of any encoding.
pub(crate) fn plain_tag(tag: &[u8]) -> (&[u8], bool) {
    let packed = Encoding::ALL.iter().find_map(|encoding| {
        let inner = tag.strip_suffix(b"\"")?.strip_suffix(encoding.name().as_bytes())?;
        inner.strip_suffix(b"-")
    });
    packed.map_or((tag, false), |inner| (inner, true))
}

/// What one request takes, each with its weight in thousandths.
#[derive(Default)]
struct Wishes {
    named: [Option<u16>; 3],
    identity: Option<u16>,
    any: Option<u16>,
}

impl Wishes {
    fn take(&mut self, item: &str) {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        let name = name.trim();
        // A weight that is none is none: then the encoding is not used.
        let weight = if parameters.is_empty() { 1000 } else { weight(parameters).unwrap_or(0) };
        let place = match name {
            "*" => &mut self.any,
            name if name.eq_ignore_ascii_case("identity") => &mut self.identity,
            name => {
                let known = Encoding::ALL.iter().zip(&mut self.named);
                let mut known = known.filter(|(encoding, _)| encoding.name().eq_ignore_ascii_case(name));
                match known.next() {
                    Some((_, place)) => place,
                    None => return,
                }
            }
        };
        *place = Some(weight);
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

/// `q=0.5` as 500.
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
    fn the_client_chooses() {
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
    fn a_tag_names_its_encoding() {
        let plain = HeaderValue::from_static("\"abc\"");
        let packed = Encoding::Zstd.tag(&plain);
        assert_eq!(packed, "\"abc-zstd\"");
        assert_eq!(plain_tag(packed.as_bytes()), (&b"\"abc"[..], true));
        assert_eq!(plain_tag(plain.as_bytes()), (&b"\"abc\""[..], false));
        assert_eq!(plain_tag(b"\"gzip\""), (&b"\"gzip\""[..], false));
    }
}
