//! What are the headers called? The only list of names that this protocol adds to HTTP.

use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};

use crate::WireError;

/// The query as base64 text. `SPEC §2.4`
pub const QUERY: &str = "X-Mesh-Query";
/// The id of a persisted query, in place of [`QUERY`].
pub const QUERY_ID: &str = "X-Mesh-Query-Id";
/// The format of the text in [`QUERY`].
pub const FORMAT: &str = "X-Mesh-Format";
/// Every request header that only this protocol knows, as written in documents. `SPEC §2.6`
pub const MESH: [&str; 7] =
    [QUERY, QUERY_ID, FORMAT, "X-Mesh-Signature", "X-Mesh-Token", "X-Mesh-Timestamp", "X-Mesh-Nonce"];
/// Names one request, in both directions. `SPEC §2.11`
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The `Vary` of every read by GET: all that the reply may depend on. `SPEC §12.3`
pub const VARY: &str = "X-Mesh-Query, X-Mesh-Query-Id, X-Mesh-Format, X-Mesh-Token, Accept-Encoding, Origin";
/// The content type of every reply that has a body. `SPEC §2.12`
pub const JSON: &str = "application/json; charset=utf-8";

/// The value of a header that may stand once: taking the first of several would let two parties read one
/// request in two ways.
pub fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h HeaderValue>, WireError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(WireError::transport(format!("Header {name} is given more than once; send it once"))),
    }
}

/// Whether a `Content-Type` says JSON, with or without parameters such as a charset.
pub(crate) fn names_json(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default();
    media.trim_ascii().eq_ignore_ascii_case("application/json")
}

/// The value of a header out of text that this crate made itself.
#[expect(
    clippy::expect_used,
    reason = "callers pass hex digits, base64 and names of methods, all visible ASCII"
)]
pub(crate) fn ascii(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("visible ASCII")
}

/// Lowercase hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
