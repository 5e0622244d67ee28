//! Decoding of read requests. `SPEC §2`

use std::borrow::Cow;
use std::fmt;

use data_encoding::HEXLOWER;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Uri};
use mesh_ql::Format;

use crate::{WireError, base64, headers, percent};

mod post_body;

pub use post_body::{PostBody, decode_body};

/// A read, decoded but not yet parsed or checked against a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadRequest<'p> {
    /// The query.
    pub source: QuerySource,
    /// What of the entity is asked for.
    pub target: ReadTarget<'p>,
}

impl<'p> ReadRequest<'p> {
    /// A read by GET, HEAD or PUT: the path's target and the query in the headers.
    pub fn from_head(target: ReadTarget<'p>, headers: &HeaderMap) -> Result<Self, WireError> {
        Ok(Self { source: decode_head(headers)?, target })
    }

    /// A read by `POST {base}`: query and target in the body.
    pub fn from_body(headers: &HeaderMap, body: &[u8]) -> Result<Self, WireError> {
        let PostBody { format, text, id } = decode_body(headers, body)?;
        Ok(Self { source: QuerySource::Text { format, text }, target: ReadTarget::Posted { id } })
    }
}

/// Where a query comes from. A server decodes it, a client sends it.
#[derive(Clone, Debug, PartialEq)]
pub enum QuerySource {
    /// The request carries it.
    Text {
        /// How to read the text.
        format: Format,
        /// The decoded text.
        text: String,
    },
    /// It was registered before, under this id; its format was kept with it.
    Id(String),
}

/// What a read is aimed at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadTarget<'p> {
    /// A list of the entity in the path, which the query's root must name too.
    Collection {
        /// The entity key.
        entity: Cow<'p, str>,
    },
    /// One record of the entity in the path, which the query's root must name too.
    Point {
        /// The entity key.
        entity: Cow<'p, str>,
        /// The record.
        id: Cow<'p, str>,
    },
    /// The entity that the query's root names: one record of it with an id, else a list.
    Posted {
        /// The record.
        id: Option<String>,
    },
}

/// The query in the headers as it came, borrowed and undecoded: equal bytes in an equal format are equal
/// queries, so a cache of plans can be asked before anything is decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RawQuery<'h> {
    /// The value of `X-Mesh-Query`.
    Text {
        /// The format of the text inside.
        format: Format,
        /// The base64 value, unchecked.
        raw: &'h [u8],
    },
    /// The value of `X-Mesh-Query-Id`.
    Id(&'h str),
}

impl RawQuery<'_> {
    /// The query itself.
    pub fn decode(self) -> Result<QuerySource, WireError> {
        match self {
            Self::Id(id) => Ok(QuerySource::Id(id.to_owned())),
            Self::Text { format, raw } => match base64::decode(raw) {
                Ok(text) => Ok(QuerySource::Text { format, text }),
                Err(error) => {
                    Err(WireError::transport(format!("{} is not base64 text: {error}", headers::QUERY)))
                }
            },
        }
    }
}

/// Finds the query in the headers without decoding it. `SPEC §2.3`, `SPEC §2.5`
pub fn raw_query(headers: &HeaderMap) -> Result<RawQuery<'_>, WireError> {
    headers::MeshHeaders::from_headers(headers)?.raw_query()
}

/// The query of a read by GET, HEAD or PUT.
pub fn decode_head(headers: &HeaderMap) -> Result<QuerySource, WireError> {
    raw_query(headers)?.decode()
}

/// Refuses URL parameters that belong into a header or into the query. Others are ignored. `SPEC §2.6`
pub fn check_url_query(query: Option<&str>) -> Result<(), WireError> {
    let Some(query) = query else { return Ok(()) };
    let names = query.split('&').filter_map(|pair| pair.split('=').next());
    for name in names {
        // A name that has no text is not one of ours.
        let Ok(name) = percent::decode(name) else { continue };
        let named = |known: &&&str| known.eq_ignore_ascii_case(&name);
        if let Some(header) = headers::MESH.iter().find(named) {
            let words = format!("'{header}' is no URL parameter; send it as a request header");
            return Err(WireError::transport(words));
        }
        if let Some(control) = mesh_ql::CONTROLS.iter().find(named) {
            let words = format!("'{control}' is no URL parameter; write it inside the query");
            return Err(WireError::transport(words));
        }
    }
    Ok(())
}

/// Refuses a head over the bound: 414 where the request line alone is, else 431. `fields` is what the headers
/// have together ([`headers::MeshHeaders::size`]). `SPEC §12.2`
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

/// The id under which client and log know a request. `SPEC §2.11`
#[derive(Clone, Debug)]
pub struct RequestId(Name);

#[derive(Clone, Debug)]
enum Name {
    /// The client's own.
    Sent(HeaderValue),
    /// Hex digits of ours.
    Fresh([u8; 32]),
}

impl RequestId {
    /// The client's own id, where it sent one of 1 to 128 visible ASCII characters, else an id made of
    /// the fresh bytes.
    pub fn from_headers(headers: &HeaderMap, fresh: [u8; 16]) -> Self {
        Self::new(headers::MeshHeaders::scan(headers).request_id, fresh)
    }

    /// The same where the client's id was found already.
    pub fn new(sent: Option<&HeaderValue>, fresh: [u8; 16]) -> Self {
        let fits = |value: &&HeaderValue| {
            (1..=128).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic)
        };
        match sent.filter(fits) {
            Some(value) => Self(Name::Sent(value.clone())),
            None => {
                let mut digits = [0; 32];
                HEXLOWER.encode_mut(&fresh, &mut digits);
                Self(Name::Fresh(digits))
            }
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Name::Sent(value) => value.to_str().unwrap_or_default(),
            Name::Fresh(digits) => std::str::from_utf8(digits).unwrap_or_default(),
        }
    }

    /// The id as a header's value.
    pub fn value(&self) -> HeaderValue {
        match &self.0 {
            Name::Sent(value) => value.clone(),
            Name::Fresh(digits) => headers::ascii(digits),
        }
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RequestId {}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the headers say that the body is JSON, with or without parameters such as a charset.
pub fn is_json(headers: &HeaderMap) -> bool {
    let value = headers::single(headers, CONTENT_TYPE.as_str()).ok().flatten();
    value.and_then(|value| value.to_str().ok()).is_some_and(headers::names_json)
}

#[cfg(test)]
mod tests;
