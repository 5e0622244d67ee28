//! The protocol's headers of a request, collected in one pass.

use http::{HeaderMap, HeaderValue};
use mesh_ql::Format;

use super::{FORMAT, NONCE, QUERY, QUERY_ID, SIGNATURE, TIMESTAMP, TOKEN, repeated};
use crate::WireError;
use crate::request::RawQuery;

/// The headers that only this protocol knows, each of which may stand once, and what else is to be known of all
/// headers together. Every request is looked through like that once, so it is worth doing in one pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeshHeaders<'h> {
    /// `X-Mesh-Query`.
    pub query: Option<&'h HeaderValue>,
    /// `X-Mesh-Query-Id`.
    pub query_id: Option<&'h HeaderValue>,
    /// `X-Mesh-Format`.
    pub format: Option<&'h HeaderValue>,
    /// `X-Mesh-Signature`.
    pub signature: Option<&'h HeaderValue>,
    /// `X-Mesh-Token`.
    pub token: Option<&'h HeaderValue>,
    /// `X-Mesh-Timestamp`.
    pub timestamp: Option<&'h HeaderValue>,
    /// `X-Mesh-Nonce`.
    pub nonce: Option<&'h HeaderValue>,
    /// `X-Request-Id`; none where it is given more than once.
    pub request_id: Option<&'h HeaderValue>,
    /// Bytes of all names and values.
    pub size: usize,
    /// One of this protocol's that is given more than once.
    repeated: Option<&'static str>,
}

impl<'h> MeshHeaders<'h> {
    /// Finds them, and refuses any that stands twice ([`MeshHeaders::reject_repeated`]).
    pub fn from_headers(headers: &'h HeaderMap) -> Result<Self, WireError> {
        Self::scan(headers).reject_repeated()
    }

    /// Finds them, whatever they are.
    pub fn scan(headers: &'h HeaderMap) -> Self {
        let mut own = Self::default();
        let mut request_ids = 0;
        for (name, value) in headers {
            // The names of a map are in lowercase.
            let text = name.as_str();
            own.size += text.len() + value.len();
            let Some(rest) = text.strip_prefix("x-") else { continue };
            let (place, name) = match rest {
                "mesh-query" => (&mut own.query, QUERY),
                "mesh-query-id" => (&mut own.query_id, QUERY_ID),
                "mesh-format" => (&mut own.format, FORMAT),
                "mesh-signature" => (&mut own.signature, SIGNATURE),
                "mesh-token" => (&mut own.token, TOKEN),
                "mesh-timestamp" => (&mut own.timestamp, TIMESTAMP),
                "mesh-nonce" => (&mut own.nonce, NONCE),
                "request-id" => {
                    own.request_id = Some(value);
                    request_ids += 1;
                    continue;
                }
                _ => continue,
            };
            if place.replace(value).is_some() {
                own.repeated.get_or_insert(name);
            }
        }
        if request_ids > 1 {
            own.request_id = None;
        }
        own
    }

    /// Refuses what stands twice: whoever takes the first and whoever takes the last would see two different
    /// requests.
    pub fn reject_repeated(self) -> Result<Self, WireError> {
        self.repeated.map_or(Ok(self), |name| Err(repeated(name)))
    }

    /// The query as it came, where there is exactly one. `SPEC §2.3`, `SPEC §2.5`
    pub fn raw_query(&self) -> Result<RawQuery<'h>, WireError> {
        match (filled(self.query, QUERY)?, filled(self.query_id, QUERY_ID)?) {
            (Some(query), None) => Ok(RawQuery::Text { format: self.query_format()?, raw: query.as_bytes() }),
            // The format of a registered query was kept with it, so the header is not even looked at.
            (None, Some(id)) => id
                .to_str()
                .map(RawQuery::Id)
                .map_err(|_| WireError::transport(format!("{QUERY_ID} has characters that no query id has"))),
            (None, None) => Err(WireError::transport(format!(
                "The request has no query; send it in {QUERY} as base64, or its id in {QUERY_ID}"
            ))),
            (Some(_), Some(_)) => Err(WireError::transport(format!(
                "{QUERY} and {QUERY_ID} exclude each other; send one of them"
            ))),
        }
    }

    fn query_format(&self) -> Result<Format, WireError> {
        let Some(value) = self.format else { return Ok(Format::Json) };
        let format = value.to_str().ok().and_then(Format::parse);
        format.ok_or_else(|| WireError::transport(format!("{FORMAT} must be 'json' or 'ql'")))
    }

    /// What a signature covers of them: the query, else its id, else nothing. `SPEC §7.4`
    pub fn statement(&self) -> &'h [u8] {
        self.query.or(self.query_id).map(HeaderValue::as_bytes).unwrap_or_default()
    }
}

fn filled<'h>(value: Option<&'h HeaderValue>, name: &str) -> Result<Option<&'h HeaderValue>, WireError> {
    match value {
        Some(value) if value.as_bytes().trim_ascii().is_empty() => {
            Err(WireError::transport(format!("Header {name} is empty")))
        }
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::MESH;

    #[test]
    fn each_is_found_and_may_stand_once() {
        let mut headers = HeaderMap::new();
        headers.insert("x-mesh-other", HeaderValue::from_static("x"));
        for name in MESH {
            headers.insert(name, HeaderValue::from_str(name).unwrap());
        }
        let own = MeshHeaders::from_headers(&headers).unwrap();
        let all = [own.query, own.query_id, own.format, own.signature, own.token, own.timestamp, own.nonce];
        assert_eq!(all.map(|value| value.unwrap().to_str().unwrap()), MESH);
        assert_eq!(own.statement(), b"X-Mesh-Query");
        for name in MESH {
            let mut twice = headers.clone();
            twice.append(name, HeaderValue::from_static("again"));
            let error = MeshHeaders::from_headers(&twice).unwrap_err();
            assert_eq!(error.status.as_u16(), 400);
            assert!(error.message.contains(name), "{}", error.message);
        }
    }

    #[test]
    fn statements() {
        let mut headers = HeaderMap::new();
        assert_eq!(MeshHeaders::from_headers(&headers).unwrap().statement(), b"");
        headers.insert(QUERY_ID, HeaderValue::from_static("q_1"));
        assert_eq!(MeshHeaders::from_headers(&headers).unwrap().statement(), b"q_1");
    }
}
