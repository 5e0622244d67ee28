//! Cross-origin resource sharing: allowed origins and response headers. `SPEC §12.5`

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderMap,
    HeaderValue, ORIGIN, VARY,
};
use http::{Method, Uri};
use thiserror::Error;

use crate::headers;

/// Request headers that a page may send in addition to those of the protocol.
const COMMON_HEADERS: [&str; 6] =
    ["Authorization", "Content-Type", "If-Match", "If-None-Match", "Last-Event-ID", "Prefer"];
/// Response headers that scripts may read.
const EXPOSED: &str = "ETag, Location, Preference-Applied, Retry-After, X-Request-Id";
/// Seconds for which browsers may cache a preflight response.
const MAX_AGE: &str = "600";

/// The origins whose pages may send requests and read the replies. Credentials are not allowed, because tokens are sent
/// by scripts and never automatically by browsers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    origins: Vec<HeaderValue>,
    any: bool,
    request_headers: HeaderValue,
}

impl Cors {
    /// Allows the given origins. An origin is a scheme and a host such as `https://app.example`, with a port unless it is
    /// the scheme's default; `*` allows any origin.
    ///
    /// # Errors
    /// [`OriginError`] for a text that is not an origin.
    pub fn new<S: AsRef<str>>(origins: impl IntoIterator<Item = S>) -> Result<Self, OriginError> {
        let names: Vec<_> = headers::MESH.into_iter().chain(COMMON_HEADERS).collect();
        let request_headers = headers::ascii(names.join(", "));
        let mut cors = Self { origins: Vec::new(), any: false, request_headers };
        for origin in origins {
            match origin.as_ref() {
                "*" => cors.any = true,
                text => cors.origins.push(parse_origin(text).ok_or_else(|| OriginError(text.to_owned()))?),
            }
        }
        Ok(cors)
    }

    /// Lets pages send headers of other protocols as well.
    #[must_use]
    pub fn with_request_headers(mut self, names: &[&str]) -> Self {
        let allowed = self.request_headers.to_str().unwrap_or_default();
        self.request_headers = headers::ascii(format!("{allowed}, {}", names.join(", ")));
        self
    }

    /// Returns whether pages of an origin may send requests.
    pub fn allows(&self, origin: &HeaderValue) -> bool {
        self.any || self.origins.contains(origin)
    }

    /// Adds the headers of this policy to a reply. For a preflight request, the methods of the path are taken from the
    /// `Allow` header of the reply to `OPTIONS`.
    pub fn apply(&self, method: &Method, request: &HeaderMap, reply: &mut HeaderMap) {
        // The reply depends on the origin even if this request has none.
        let mut vary = reply.get_all(VARY).iter().filter_map(|line| line.to_str().ok());
        if !self.any && !vary.any(|line| line.contains("Origin")) {
            reply.append(VARY, HeaderValue::from_static("Origin"));
        }
        let Some(origin) = request.get(ORIGIN).filter(|origin| self.allows(origin)) else {
            return;
        };
        let origin = if self.any { HeaderValue::from_static("*") } else { origin.clone() };
        reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let preflight = *method == Method::OPTIONS && request.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        match reply.get(ALLOW).cloned().filter(|_| preflight) {
            Some(methods) => {
                reply.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
                reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.request_headers.clone());
                reply.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
            }
            None => {
                reply.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
            }
        }
    }
}

/// Parses an origin and converts it to lowercase, as browsers send it.
fn parse_origin(text: &str) -> Option<HeaderValue> {
    let uri: Uri = text.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let plain =
        format!("{scheme}://{authority}").eq_ignore_ascii_case(text) && !authority.as_str().contains('@');
    plain.then(|| HeaderValue::from_str(&text.to_ascii_lowercase()).ok()).flatten()
}

/// A text that is not an origin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not an origin; write a scheme and a host, such as 'https://app.example', or '*'")]
pub struct OriginError(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn reply_headers(
        origins: &[&str],
        method: &Method,
        request: &[(&'static str, &'static str)],
    ) -> HeaderMap {
        let cors = Cors::new(origins).unwrap();
        let request: Vec<_> =
            request.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let mut reply = HeaderMap::new();
        if *method == Method::OPTIONS {
            reply.insert(ALLOW, HeaderValue::from_static("GET, PUT, OPTIONS"));
        }
        cors.apply(method, &request.into_iter().collect(), &mut reply);
        reply
    }

    #[test]
    fn a_reply_for_any_origin_does_not_vary() {
        let reply = reply_headers(&["*"], &Method::GET, &[("origin", "https://x.y")]);
        assert_eq!(reply[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!reply.contains_key(VARY));
    }

    #[test]
    fn invalid_origins_are_refused() {
        for text in ["app.example", "https://", "https://a.b/", "https://a.b/c", "https://u@a.b", "null", ""]
        {
            assert_eq!(Cors::new([text]), Err(OriginError(text.to_owned())));
        }
    }
}
