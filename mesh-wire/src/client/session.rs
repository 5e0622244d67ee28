//! Login, logout and the signing of requests. `SPEC §7`

use std::fmt;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Method, Request};
use mesh_ql::Format;
use ring::{digest, hmac};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ClientError, Endpoint, post_json, request};
use crate::request::{decode_body, is_json};
use crate::{MeshHeaders, RawQuery, headers};

/// Builds a login. The form of the credentials depends on the server.
///
/// # Errors
/// [`ClientError::Url`] if the endpoint does not yield a URL.
pub fn login(endpoint: &Endpoint, credentials: &Map<String, Value>) -> Result<Request<Bytes>, ClientError> {
    Ok(post_json(endpoint.url(&["auth"])?, credentials.clone()))
}

/// Builds the exchange of a bearer for a session. The reply has the form of a login reply. `SPEC §17.5`
///
/// # Errors
/// [`ClientError`] if the endpoint does not yield a URL, or the bearer does not fit into a header.
pub fn exchange(endpoint: &Endpoint, bearer: &str) -> Result<Request<Bytes>, ClientError> {
    with_bearer(login(endpoint, &Map::new())?, bearer)
}

/// Adds a bearer, an issuer's token or an API key, to a request that is not signed. `SPEC §17.1`
///
/// # Errors
/// [`ClientError::Bearer`] if it does not fit into a header.
pub fn with_bearer(mut request: Request<Bytes>, bearer: &str) -> Result<Request<Bytes>, ClientError> {
    let value = HeaderValue::try_from(format!("Bearer {bearer}"));
    let mut value = value.ok().filter(|_| !bearer.trim().is_empty()).ok_or(ClientError::Bearer)?;
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(request)
}

/// Builds a logout, which requires the token that [`Session::sign`] adds.
///
/// # Errors
/// [`ClientError::Url`] if the endpoint does not yield a URL.
pub fn logout(endpoint: &Endpoint) -> Result<Request<Bytes>, ClientError> {
    Ok(request(Method::POST, endpoint.url(&["logout"])?, None))
}

/// Builds the registration of a query. The reply contains the id. `SPEC §8.1`
///
/// # Errors
/// [`ClientError::Url`] if the endpoint does not yield a URL.
pub fn register(endpoint: &Endpoint, format: Format, text: &str) -> Result<Request<Bytes>, ClientError> {
    let mut body = Map::new();
    body.insert("query".to_owned(), text.into());
    body.insert("format".to_owned(), format.as_str().into());
    Ok(post_json(endpoint.url(&["queries"])?, body))
}

/// The result of a login, which signs requests until it expires.
#[derive(Clone)]
pub struct Session {
    token: HeaderValue,
    key: hmac::Key,
    /// The time of expiry, in milliseconds since the Unix epoch.
    pub expires_at: u64,
}

/// The timestamp and nonce that bind a signature to one use. `SPEC §7.9`
#[derive(Clone, Copy, Debug)]
pub struct SignatureBinding<'a> {
    /// The current time, in seconds since the Unix epoch.
    pub timestamp: u64,
    /// 16 to 64 base64url characters that the session has not used before.
    pub nonce: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoginReply {
    signing_token: String,
    token: String,
    expires_at: u64,
}

impl Session {
    /// Decodes the body of the reply to a login. Returns `None` if the body has another form.
    pub fn from_login_reply(body: &[u8]) -> Option<Self> {
        let reply: LoginReply = serde_json::from_slice(body).ok()?;
        let mut token = HeaderValue::try_from(reply.token).ok()?;
        token.set_sensitive(true);
        let key = hmac::Key::new(hmac::HMAC_SHA256, reply.signing_token.as_bytes());
        Some(Self { token, key, expires_at: reply.expires_at })
    }

    /// Adds token and signature to a complete request, bound to one use if there is a `binding`.
    ///
    /// # Errors
    /// [`ClientError::Nonce`] if the nonce does not fit into a header.
    pub fn sign(
        &self,
        mut request: Request<Bytes>,
        binding: Option<SignatureBinding<'_>>,
    ) -> Result<Request<Bytes>, ClientError> {
        let mut message = message(&request);
        if let Some(SignatureBinding { timestamp, nonce }) = binding {
            let format = format(&request).as_str();
            let (method, path) = (request.method(), request.uri().path());
            message
                .extend_from_slice(format!("\n{method}\n{path}\n{format}\n{timestamp}\n{nonce}").as_bytes());
            let nonce = HeaderValue::try_from(nonce).map_err(|_| ClientError::Nonce)?;
            request.headers_mut().insert(headers::TIMESTAMP, HeaderValue::from(timestamp));
            request.headers_mut().insert(headers::NONCE, nonce);
        }
        let signature = format!("sha256={}", HEXLOWER.encode(hmac::sign(&self.key, &message).as_ref()));
        request.headers_mut().insert(headers::SIGNATURE, headers::ascii(signature));
        request.headers_mut().insert(headers::TOKEN, self.token.clone());
        Ok(request)
    }
}

/// Returns the message to sign: the headers of the query and its parameters, and the digest of a JSON body.
/// `SPEC §7.4`, `SPEC §19.4`
fn message(request: &Request<Bytes>) -> Vec<u8> {
    let found = MeshHeaders::scan(request.headers());
    let mut message = found.statement().to_vec();
    if let Some(params) = found.params {
        message.push(b'\n');
        message.extend_from_slice(params.as_bytes());
    }
    if is_json(request.headers()) {
        let digest = digest::digest(&digest::SHA256, request.body());
        message.push(b'\n');
        message.extend_from_slice(HEXLOWER.encode(digest.as_ref()).as_bytes());
    }
    message
}

/// Returns the format of the query in the headers or in the body.
fn format(request: &Request<Bytes>) -> Format {
    match MeshHeaders::scan(request.headers()).raw_query() {
        Ok(RawQuery::Text { format, .. }) => format,
        _ => decode_body(request.headers(), request.body()).map(|body| body.format).unwrap_or_default(),
    }
}

/// Omits the secret token and key.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::{QuerySource, client};

    const ISSUED: &[u8] = br#"{"signingToken":"key","token":"tok_abc","expiresAt":17,"more":true}"#;
    const QUERY: &str = r#"{"post":{"$select":{"title":true}}}"#;

    fn signature(message: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"key");
        format!("sha256={}", HEXLOWER.encode(hmac::sign(&key, message.as_bytes()).as_ref()))
    }

    fn signed(request: Request<Bytes>, binding: Option<SignatureBinding<'_>>) -> HeaderMap {
        Session::from_login_reply(ISSUED).unwrap().sign(request, binding).unwrap().headers().clone()
    }

    #[test]
    fn signatures_cover_query_body_and_binding() {
        let endpoint = Endpoint::parse("http://localhost/api/mesh").unwrap();
        let source = QuerySource::Text { format: Format::Json, text: QUERY.to_owned() };
        let get = client::point(&endpoint, "post", "7", &source).unwrap();
        let query = get.headers()[headers::QUERY].to_str().unwrap().to_owned();
        let plain = signed(get.clone(), None);
        assert_eq!(plain[headers::SIGNATURE], signature(&query));
        assert_eq!(plain[headers::TOKEN], "tok_abc");
        let binding = Some(SignatureBinding { timestamp: 1_700_000_000, nonce: "abcdefghijklmnop" });
        let bound = signed(get, binding);
        let message = format!("{query}\nGET\n/api/mesh/post/7\njson\n1700000000\nabcdefghijklmnop");
        assert_eq!(bound[headers::SIGNATURE], signature(&message));
        assert_eq!(bound[headers::TIMESTAMP], "1700000000");
        assert_eq!(bound[headers::NONCE], "abcdefghijklmnop");

        let posted = client::post(&endpoint, Format::Ql, "{ post title }", None).unwrap();
        let digest = HEXLOWER.encode(digest::digest(&digest::SHA256, posted.body()).as_ref());
        assert_eq!(signed(posted.clone(), None)[headers::SIGNATURE], signature(&format!("\n{digest}")));
        let message = format!("\n{digest}\nPOST\n/api/mesh\nql\n1700000000\nabcdefghijklmnop");
        assert_eq!(signed(posted, binding)[headers::SIGNATURE], signature(&message));
        assert_eq!(signed(logout(&endpoint).unwrap(), None)[headers::SIGNATURE], signature(""));
    }

    #[test]
    fn login_and_registration_are_posted() {
        let endpoint = Endpoint::parse("http://localhost/mesh").unwrap();
        let mut credentials = Map::new();
        credentials.insert("login".to_owned(), "ada".into());
        let request = login(&endpoint, &credentials).unwrap();
        assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/mesh/auth"));
        assert_eq!(request.body(), r#"{"login":"ada"}"#);
        let request = register(&endpoint, Format::Ql, "{ post id }").unwrap();
        assert_eq!(request.uri().path(), "/mesh/queries");
        assert_eq!(request.body(), r#"{"query":"{ post id }","format":"ql"}"#);
    }

    #[test]
    fn replies_without_a_session_are_refused() {
        for body in ["", "{}", "[]", r#"{"signingToken":"k","token":"a\nb","expiresAt":1}"#] {
            assert!(Session::from_login_reply(body.as_bytes()).is_none(), "{body}");
        }
        assert_eq!(
            format!("{:?}", Session::from_login_reply(ISSUED).unwrap()),
            "Session { expires_at: 17, .. }"
        );
    }
}
