//! Decoding of read requests. `SPEC §2`

mod accept;
mod batch_body;
mod hosts;
mod if_match;
mod mesh_headers;
mod post_body;
mod prefer;
mod reference;

use std::fmt;

use data_encoding::HEXLOWER;
use http::header::{HeaderMap, HeaderValue};
use http::{Method, Uri};
use mesh_ql::{Format, ParamValues};

use crate::base64::Base64Error;
use crate::route::percent;
use crate::{WireError, base64, headers};
pub use accept::preferred_type;
pub use batch_body::{BatchStep, StepQuery, decode_batch};
pub use hosts::{AllowedHosts, Host, HostError, check_one_host};
pub use if_match::IfMatch;
pub use mesh_headers::{Authorization, MeshHeaders};
pub use post_body::{PostBody, PostedId, decode_body};
pub use prefer::merges_duplicates;
pub use reference::{BatchText, ReferenceError, StepReference, replace_references};

/// A query as a request carries it.
#[derive(Clone, Debug, PartialEq)]
pub enum QuerySource {
    /// The text of the query.
    Text {
        /// The format of the text.
        format: Format,
        /// The decoded text.
        text: String,
    },
    /// The id of a registered query, whose format is stored with it.
    Id(String),
}

/// The undecoded query of a request's headers. Equal bytes in the same format are equal queries, so a plan cache can be
/// consulted before the query is decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RawQuery<'h> {
    /// The value of `X-Mesh-Query`.
    Text {
        /// The format of the text inside.
        format: Format,
        /// The unchecked base64 value.
        raw: &'h [u8],
    },
    /// The value of `X-Mesh-Query-Id`.
    Id(&'h str),
}

impl RawQuery<'_> {
    /// Decodes the query.
    ///
    /// # Errors
    /// 400 if the text is not base64 of UTF-8.
    pub fn decode(self) -> Result<QuerySource, WireError> {
        match self {
            Self::Id(id) => Ok(QuerySource::Id(id.to_owned())),
            Self::Text { format, raw } => match base64::decode(raw) {
                Ok(text) => Ok(QuerySource::Text { format, text }),
                Err(error) => Err(not_base64(headers::QUERY, raw, error)),
            },
        }
    }
}

/// Returns the error for a header that is not base64. The value is often the unencoded text.
fn not_base64(header: &str, value: &[u8], error: Base64Error) -> WireError {
    let hint = match value {
        [b'{', ..] => "; encode the text as base64, or send it as it is in the body of a POST",
        _ => "",
    };
    WireError::transport(format!("{header} is not base64 text: {error}{hint}"))
}

/// Parses parameter values. `source` names the header or body member that contains them. `SPEC §19.2`
///
/// # Errors
/// 400 if the text is not a JSON object, or has more than `bound` bytes, the bound on queries.
pub fn parse_params(text: &str, source: &str, bound: usize) -> Result<ParamValues, WireError> {
    if text.len() > bound {
        let length = text.len();
        return Err(WireError::validation(format!(
            "The values in {source} have {length} bytes; the bound `query_bytes` is {bound}"
        )));
    }
    ParamValues::parse(text)
        .map_err(|error| WireError::transport(format!("{source} is not a JSON object of values: {error}")))
}

/// Refuses URL parameters that belong in a header or in the query. Other parameters are ignored. `SPEC §2.6`
///
/// # Errors
/// 400 for such a parameter.
pub fn check_url_query(query: Option<&str>) -> Result<(), WireError> {
    let Some(query) = query else { return Ok(()) };
    let names = query.split('&').filter_map(|pair| pair.split('=').next());
    for name in names {
        // A name that cannot be decoded is not one of the protocol.
        let Ok(name) = percent::decode(name) else { continue };
        let matches = |known: &&&str| known.eq_ignore_ascii_case(&name);
        if let Some(header) = headers::MESH.iter().find(matches) {
            let message = format!("'{header}' is not a URL parameter; send it as a request header");
            return Err(WireError::transport(message));
        }
        if let Some(control) = mesh_ql::CONTROLS.iter().find(matches) {
            let message = format!("'{control}' is not a URL parameter; write it inside the query");
            return Err(WireError::transport(message));
        }
    }
    Ok(())
}

/// Refuses a request head of more than `limit` bytes. `fields` is the size of all headers
/// ([`MeshHeaders::size`]). `SPEC §12.2`
///
/// # Errors
/// 414 if the request line alone exceeds the limit, else 431.
pub fn check_head_size(method: &Method, uri: &Uri, fields: usize, limit: usize) -> Result<(), WireError> {
    let target = uri.path_and_query().map_or_else(|| uri.path().len(), |target| target.as_str().len());
    let line = method.as_str().len() + target + "  HTTP/1.1".len();
    if line > limit {
        return Err(WireError::uri_too_long(limit));
    }
    if line + fields > limit {
        return Err(WireError::headers_too_large(limit));
    }
    Ok(())
}

/// The id of a request in replies and logs. `SPEC §2.11`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Inner);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Inner {
    /// The client's id.
    Client(HeaderValue),
    /// The hex digits of a generated id.
    Generated([u8; 32]),
}

impl RequestId {
    /// Returns the client's id if it consists of 1 to 128 visible ASCII characters, else an id made of `random` bytes.
    pub fn from_headers(headers: &HeaderMap, random: [u8; 16]) -> Self {
        let client_id = headers::single(headers, &headers::REQUEST_ID).ok().flatten();
        let is_valid = |value: &&HeaderValue| {
            (1..=128).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic)
        };
        match client_id.filter(is_valid) {
            Some(value) => Self(Inner::Client(value.clone())),
            None => {
                let mut digits = [0; 32];
                HEXLOWER.encode_mut(&random, &mut digits);
                Self(Inner::Generated(digits))
            }
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Inner::Client(value) => value.to_str().unwrap_or_default(),
            Inner::Generated(digits) => std::str::from_utf8(digits).unwrap_or_default(),
        }
    }

    /// Returns the id as a header value.
    pub fn value(&self) -> HeaderValue {
        match &self.0 {
            Inner::Client(value) => value.clone(),
            Inner::Generated(digits) => headers::ascii(digits),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns whether the body is JSON according to its content type, with or without parameters such as a charset.
pub fn is_json(headers: &HeaderMap) -> bool {
    headers::has_media_type(headers, "application/json")
}

/// Refuses a body that is not JSON according to its content type.
///
/// # Errors
/// 415.
pub fn check_json(headers: &HeaderMap) -> Result<(), WireError> {
    if is_json(headers) { Ok(()) } else { Err(WireError::unsupported_media_type()) }
}

#[cfg(test)]
mod tests;
