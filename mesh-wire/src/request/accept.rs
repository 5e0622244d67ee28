//! The media types that a client accepts.

use http::HeaderMap;
use http::header::ACCEPT;

/// Returns the offered media type that a request prefers to the default. The preferred type is the first one with the
/// highest weight in `Accept`. Returns `None` if that is a wildcard or is not offered, or if `Accept` is missing.
///
/// ```
/// use http::{HeaderMap, header};
/// use mesh_wire::request::preferred_type;
///
/// let mut headers = HeaderMap::new();
/// headers.insert(header::ACCEPT, "text/csv, application/json;q=0.5".parse().unwrap());
/// assert_eq!(preferred_type(&headers, &["text/csv"]), Some("text/csv"));
/// headers.insert(header::ACCEPT, "text/html, */*;q=0.8".parse().unwrap());
/// assert_eq!(preferred_type(&headers, &["text/csv"]), None);
/// ```
pub fn preferred_type<'t>(headers: &HeaderMap, offered: &[&'t str]) -> Option<&'t str> {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let weighed = lines.flat_map(|line| line.split(',')).map(parse_range);
    let mut best = ("", 0.0);
    for (name, weight) in weighed {
        if weight > best.1 {
            best = (name, weight);
        }
    }
    offered.iter().copied().find(|offer| offer.eq_ignore_ascii_case(best.0))
}

/// Parses an item of `Accept` into its media type and its weight. An invalid weight is 0.
fn parse_range(item: &str) -> (&str, f32) {
    let mut parts = item.split(';');
    let name = parts.next().unwrap_or_default().trim();
    let weight = parts.find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().unwrap_or(0.0))
    });
    let weight = weight.unwrap_or(1.0);
    (name, if (0.0..=1.0).contains(&weight) { weight } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_the_highest_weight_is_preferred() {
        let offered = ["application/x-ndjson", "text/csv"];
        for (accept, expected) in [
            ("text/csv", Some("text/csv")),
            ("TEXT/CSV ; charset=utf-8", Some("text/csv")),
            ("application/x-ndjson, text/csv", Some("application/x-ndjson")),
            ("text/csv;q=0.5, application/x-ndjson;q=0.9", Some("application/x-ndjson")),
            ("application/json;q=0.9, text/csv", Some("text/csv")),
            ("application/json, text/csv", None),
            ("*/*", None),
            ("*/*, text/csv", None),
            ("text/*", None),
            ("text/csv;q=0", None),
            ("text/csv;q=2", None),
            ("text/csv;q=x", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(preferred_type(&headers, &offered), expected, "{accept}");
        }
        assert_eq!(preferred_type(&HeaderMap::new(), &offered), None);
    }
}
