//! Names of the headers that the protocol adds to HTTP.

use std::fmt;

use http::header::{AsHeaderName, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};

use crate::WireError;

/// The query as base64. `SPEC §2.4`
pub const QUERY: &str = "X-Mesh-Query";
/// The id of a persisted query, sent instead of [`QUERY`].
pub const QUERY_ID: &str = "X-Mesh-Query-Id";
/// The values of parameters as base64 of a JSON object. `SPEC §19.2`
pub const PARAMS: &str = "X-Mesh-Params";
/// The format of the text in [`QUERY`].
pub const FORMAT: &str = "X-Mesh-Format";
/// The signature of a request. `SPEC §7.4`
pub const SIGNATURE: &str = "X-Mesh-Signature";
/// The token of a session. `SPEC §7.2`
pub const TOKEN: &str = "X-Mesh-Token";
/// The time at which a bound signature was made. `SPEC §7.9`
pub const TIMESTAMP: &str = "X-Mesh-Timestamp";
/// The nonce of a bound signature. `SPEC §7.9`
pub const NONCE: &str = "X-Mesh-Nonce";
/// The request headers that this protocol defines. `SPEC §2.6`
pub const MESH: [&str; 8] = [QUERY, QUERY_ID, PARAMS, FORMAT, SIGNATURE, TOKEN, TIMESTAMP, NONCE];
/// The session as which an administrator views the data. The docs surface accepts it. `SPEC §13.3`
pub const VIEW_AS: &str = "X-Mesh-View-As";
/// The id of a request, in requests and replies. `SPEC §2.11`
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The preference to update an existing record. `SPEC §18.2`
pub const MERGE_DUPLICATES: &str = "resolution=merge-duplicates";
/// The preferences of a request that the server applied. `SPEC §18.2`
pub static PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The `Vary` header of reads by GET. `SPEC §12.3`
pub const VARY: &str = "X-Mesh-Query, X-Mesh-Query-Id, X-Mesh-Params, X-Mesh-Format, X-Mesh-Token, Authorization, \
                        Accept, Accept-Encoding, Origin";
/// The content type of replies that have a body. `SPEC §2.12`
pub const JSON: &str = "application/json; charset=utf-8";

/// Returns the value of a header that may be sent only once. If the header were repeated, two parties could read the
/// same request differently.
///
/// # Errors
/// 400 if the header is repeated.
pub fn single(
    headers: &HeaderMap,
    name: impl AsHeaderName + Copy + fmt::Display,
) -> Result<Option<&HeaderValue>, WireError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(repeated(name)),
    }
}

pub(crate) fn repeated(name: impl fmt::Display) -> WireError {
    WireError::transport(format!("Header {name} is repeated; send it once"))
}

/// Returns whether there is one `Content-Type`, with this media type and any parameters.
pub(crate) fn has_media_type(headers: &HeaderMap, media_type: &str) -> bool {
    let value = single(headers, &CONTENT_TYPE).ok().flatten().and_then(|value| value.to_str().ok());
    let media = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    media.trim_ascii().eq_ignore_ascii_case(media_type)
}

/// Returns the header value of a text that this crate generated.
#[expect(
    clippy::expect_used,
    reason = "callers pass hex digits, base64 and method names, which are visible ASCII"
)]
pub(crate) fn ascii(text: impl AsRef<[u8]>) -> HeaderValue {
    HeaderValue::from_bytes(text.as_ref()).expect("visible ASCII")
}
