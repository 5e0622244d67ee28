//! Cross-origin resource sharing: allowed origins and response headers. `SPEC §12.5`

use std::fmt;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderMap,
    HeaderValue, ORIGIN, VARY,
};
use http::{Method, Uri};

use crate::headers;

/// Request headers beside our own that a page may send.
const ALSO_SENT: [&str; 3] = ["Content-Type", "If-None-Match", "Last-Event-ID"];
/// Headers of a reply that a page's scripts may read.
const EXPOSED: &str = "ETag, Location, Retry-After, X-Request-Id";
/// Seconds for which a browser need not ask again.
const MAX_AGE: &str = "600";

/// The origins whose pages may ask and read. Tokens are sent by scripts and never by browsers of themselves,
/// so no credentials are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    origins: Vec<HeaderValue>,
    any: bool,
    sent: HeaderValue,
}

impl Cors {
    /// Pages of those origins, each a scheme and a host such as `https://app.example`, with a port where it
    /// is not the scheme's own; `*` is any origin.
    ///
    /// # Errors
    /// A text that is no origin.
    pub fn new<S: AsRef<str>>(origins: impl IntoIterator<Item = S>) -> Result<Self, OriginError> {
        let sent: Vec<_> = headers::MESH.into_iter().chain(ALSO_SENT).collect();
        let mut cors = Self { origins: Vec::new(), any: false, sent: headers::ascii(sent.join(", ")) };
        for origin in origins {
            match origin.as_ref() {
                "*" => cors.any = true,
                text => cors.origins.push(read(text).ok_or_else(|| OriginError(text.to_owned()))?),
            }
        }
        Ok(cors)
    }

    /// Adds to a reply what its browser has to know. The methods of a path are those that the reply of
    /// `OPTIONS` has in `Allow`.
    pub fn apply(&self, method: &Method, sent: &HeaderMap, reply: &mut HeaderMap) {
        // Whether the origin is named or not, another one might get another reply.
        if !self.any && !names_origin(reply) {
            reply.append(VARY, HeaderValue::from_static("Origin"));
        }
        let Some(origin) = sent.get(ORIGIN).filter(|origin| self.any || self.origins.contains(origin)) else {
            return;
        };
        let origin = if self.any { HeaderValue::from_static("*") } else { origin.clone() };
        reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let preflight = *method == Method::OPTIONS && sent.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        match reply.get(ALLOW).cloned().filter(|_| preflight) {
            Some(methods) => {
                reply.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
                reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.sent.clone());
                reply.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
            }
            None => {
                reply.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
            }
        }
    }
}

fn names_origin(reply: &HeaderMap) -> bool {
    reply.get_all(VARY).iter().any(|line| line.to_str().is_ok_and(|line| line.contains("Origin")))
}

/// An origin as browsers send it: nothing after the host, and lowercase.
fn read(text: &str) -> Option<HeaderValue> {
    let uri: Uri = text.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let plain =
        format!("{scheme}://{authority}").eq_ignore_ascii_case(text) && !authority.as_str().contains('@');
    plain.then(|| HeaderValue::from_str(&text.to_ascii_lowercase()).ok()).flatten()
}

/// A text that is no origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginError(String);

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no origin; write scheme and host, such as 'https://app.example', or '*'", self.0)
    }
}

impl std::error::Error for OriginError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn dressed(origins: &[&str], method: &Method, sent: &[(&'static str, &'static str)]) -> HeaderMap {
        let cors = Cors::new(origins).unwrap();
        let sent: Vec<_> =
            sent.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let mut reply = HeaderMap::new();
        if *method == Method::OPTIONS {
            reply.insert(ALLOW, HeaderValue::from_static("GET, PUT, OPTIONS"));
        }
        cors.apply(method, &sent.into_iter().collect(), &mut reply);
        reply
    }

    #[test]
    fn a_known_origin_may_read() {
        let reply = dressed(&["https://app.example"], &Method::GET, &[("origin", "https://app.example")]);
        assert_eq!(reply[ACCESS_CONTROL_ALLOW_ORIGIN], "https://app.example");
        assert_eq!(reply[ACCESS_CONTROL_EXPOSE_HEADERS], EXPOSED);
        assert_eq!(reply[VARY], "Origin");
        assert!(!reply.contains_key(ACCESS_CONTROL_ALLOW_METHODS));
    }

    #[test]
    fn others_may_not() {
        for origin in
            ["https://app.example.evil.example", "http://app.example", "https://app.example:8443", "null"]
        {
            let reply = dressed(&["https://app.example"], &Method::GET, &[("origin", origin)]);
            assert!(!reply.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN), "{origin}");
            assert_eq!(reply[VARY], "Origin");
        }
        assert!(!dressed(&["https://a.b"], &Method::GET, &[]).contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
    }

    #[test]
    fn a_preflight_learns_methods_and_headers() {
        let sent = [("origin", "https://a.b"), ("access-control-request-method", "PUT")];
        let reply = dressed(&["https://A.b"], &Method::OPTIONS, &sent);
        assert_eq!(reply[ACCESS_CONTROL_ALLOW_METHODS], "GET, PUT, OPTIONS");
        let allowed = reply[ACCESS_CONTROL_ALLOW_HEADERS].to_str().unwrap();
        for name in headers::MESH.into_iter().chain(ALSO_SENT) {
            assert!(allowed.split(", ").any(|one| one == name), "{name}");
        }
    }

    #[test]
    fn any_origin_is_said_in_one_way() {
        let reply = dressed(&["*"], &Method::GET, &[("origin", "https://x.y")]);
        assert_eq!(reply[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!reply.contains_key(VARY));
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in ["app.example", "https://", "https://a.b/", "https://a.b/c", "https://u@a.b", "null", ""]
        {
            assert_eq!(Cors::new([text]), Err(OriginError(text.to_owned())));
        }
    }
}
