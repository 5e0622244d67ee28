//! The header `Prefer` (RFC 7240).

use http::HeaderMap;

/// Returns whether a request prefers updating an existing record to failing. Unknown preferences are ignored.
/// `SPEC §18.2`
///
/// ```
/// use http::HeaderMap;
/// use mesh_wire::request::merges_duplicates;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("prefer", "return=representation, resolution=merge-duplicates".parse().unwrap());
/// assert!(merges_duplicates(&headers));
/// ```
pub fn merges_duplicates(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|preference| {
        // Parameters follow a semicolon.
        let preference = preference.split(';').next().unwrap_or_default();
        let Some((name, value)) = preference.split_once('=') else { return false };
        let value = value.trim_ascii();
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        name.trim_ascii().eq_ignore_ascii_case("resolution") && value == "merge-duplicates"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_preferences_is_found() {
        let merges = |values: &[&str]| {
            let values = values
                .iter()
                .map(|value| (http::header::HeaderName::from_static("prefer"), value.parse().unwrap()));
            merges_duplicates(&values.collect())
        };
        assert!(merges(&["resolution=merge-duplicates"]));
        assert!(merges(&["wait=1, Resolution = \"merge-duplicates\" ; a=b"]));
        assert!(merges(&["wait=1", "resolution=merge-duplicates"]));
        assert!(!merges(&["resolution=ignore-duplicates"]));
        assert!(!merges(&["resolution", "merge-duplicates", ""]));
        assert!(!merges(&[]));
    }
}
