//! Negotiation of content encodings. `SPEC §12.4`

use http::header::{ACCEPT_ENCODING, HeaderMap};
use mesh_ql::named_enum;

named_enum! {
    /// A content encoding that replies can have. Of equally acceptable encodings the first in [`Encoding::ALL`] is used:
    /// the server compresses best with Brotli, and better with gzip than with Zstandard.
    Encoding {
        /// Brotli.
        Brotli = "br",
        /// Gzip.
        Gzip = "gzip",
        /// Zstandard.
        Zstd = "zstd",
    }
}

impl Encoding {
    /// Selects the encoding with the highest weight in `Accept-Encoding`; among equals, the first in [`Encoding::ALL`].
    /// Returns `None` if the client accepts none of them or prefers an unencoded body.
    pub fn negotiate(headers: &HeaderMap) -> Option<Self> {
        let lines = || headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        let weight_of = |wanted: &str| {
            // If an item is repeated, the last one applies.
            let mut items = lines().flat_map(|line| line.split(',')).map(parse_item).rev();
            items.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, weight)| weight)
        };
        let any = weight_of("*").unwrap_or(0.0);
        let weighed = Self::ALL.map(|encoding| (encoding, weight_of(encoding.as_str()).unwrap_or(any)));
        // `max_by` returns the last of several maxima.
        let (best, weight) = weighed.into_iter().rev().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        (weight > 0.0 && weight >= weight_of("identity").unwrap_or(0.0)).then_some(best)
    }
}

/// Parses an item of `Accept-Encoding`, such as `gzip;q=0.5`, into its name and its weight. An invalid weight is 0.
fn parse_item(item: &str) -> (&str, f32) {
    let (name, parameters) = item.split_once(';').unwrap_or((item, "q=1"));
    let value =
        parameters.trim().strip_prefix(['q', 'Q']).and_then(|rest| rest.trim_start().strip_prefix('='));
    let weight =
        value.and_then(|value| value.trim().parse().ok()).filter(|weight| (0.0..=1.0).contains(weight));
    (name.trim(), weight.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn best(accept: &[&'static str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for line in accept {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
        }
        Encoding::negotiate(&headers).map(Encoding::as_str)
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
        assert_eq!(best(&["gzip", "zstd"]), Some("gzip"));
        assert_eq!(best(&["zstd, gzip"]), Some("gzip"));
        assert_eq!(best(&["zstd, gzip;q=0.9"]), Some("zstd"));
        assert_eq!(best(&["gzip;q=1, br;q=0.9"]), Some("gzip"));
        assert_eq!(best(&["*"]), Some("br"));
        assert_eq!(best(&["*;q=0.1, br;q=0"]), Some("gzip"));
        assert_eq!(best(&["gzip;q=0, identity"]), None);
        assert_eq!(best(&["gzip;q=0.5, identity;q=0.8"]), None);
        assert_eq!(best(&["gzip;q=nonsense, br;level=4"]), None);
        assert_eq!(best(&["gzip;q=1e9"]), None);
    }
}
