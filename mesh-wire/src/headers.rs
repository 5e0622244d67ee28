//! Names of the headers that the protocol adds to HTTP.

mod mesh_headers;

use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};

use crate::WireError;
pub use mesh_headers::MeshHeaders;

/// The query as base64 text. `SPEC §2.4`
pub const QUERY: &str = "X-Mesh-Query";
/// The id of a persisted query, in place of [`QUERY`].
pub const QUERY_ID: &str = "X-Mesh-Query-Id";
/// The format of the text in [`QUERY`].
pub const FORMAT: &str = "X-Mesh-Format";
/// The signature of a request. `SPEC §7.4`
pub const SIGNATURE: &str = "X-Mesh-Signature";
/// The token of a session. `SPEC §7.2`
pub const TOKEN: &str = "X-Mesh-Token";
/// When a bound signature was made. `SPEC §7.9`
pub const TIMESTAMP: &str = "X-Mesh-Timestamp";
/// What makes a bound signature unlike all others. `SPEC §7.9`
pub const NONCE: &str = "X-Mesh-Nonce";
/// Every request header that only this protocol knows, as written in documents. `SPEC §2.6`
pub const MESH: [&str; 7] = [QUERY, QUERY_ID, FORMAT, SIGNATURE, TOKEN, TIMESTAMP, NONCE];
/// Names one request, in both directions. `SPEC §2.11`
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The `Vary` of every read by GET: all that the reply may depend on. `SPEC §12.3`
pub const VARY: &str = "X-Mesh-Query, X-Mesh-Query-Id, X-Mesh-Format, X-Mesh-Token, Accept-Encoding, Origin";
/// The content type of every reply that has a body. `SPEC §2.12`
pub const JSON: &str = "application/json; charset=utf-8";

/// The value of a header that may stand once: taking the first of several would let two parties read one
/// request in two ways.
pub fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h HeaderValue>, WireError> {
    // Requests have few headers. Going through them is faster than to hash a name that is not known before, which
    // has to be checked and put into lowercase first.
    let named = |(known, _): &(&HeaderName, &HeaderValue)| {
        known.as_str().len() == name.len() && known.as_str().eq_ignore_ascii_case(name)
    };
    let mut values = headers.iter().filter(named).map(|(_, value)| value);
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(repeated(name)),
    }
}

fn repeated(name: &str) -> WireError {
    WireError::transport(format!("Header {name} is given more than once; send it once"))
}

/// Whether a `Content-Type` says JSON, with or without parameters such as a charset.
pub(crate) fn names_json(content_type: &str) -> bool {
    names(content_type, "application/json")
}

/// Whether a `Content-Type` says that media type.
pub(crate) fn names(content_type: &str, media_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default();
    media.trim_ascii().eq_ignore_ascii_case(media_type)
}

/// The value of a header out of text that this crate made itself.
#[expect(
    clippy::expect_used,
    reason = "callers pass hex digits, base64 and names of methods, all visible ASCII"
)]
pub(crate) fn ascii(text: impl AsRef<[u8]>) -> HeaderValue {
    HeaderValue::from_bytes(text.as_ref()).expect("visible ASCII")
}
