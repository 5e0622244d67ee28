//! The protocol's headers of a request, collected in one pass.

use http::{HeaderMap, HeaderValue};
use mesh_ql::{Format, ParamValues};

use super::{RawQuery, not_base64, parse_params};
use crate::headers::{
    FORMAT, NONCE, PARAMS, QUERY, QUERY_ID, SIGNATURE, TIMESTAMP, TOKEN, VIEW_AS, repeated,
};
use crate::{WireError, base64};

/// The authentication scheme of bearers.
const SCHEME: &str = "Bearer";

/// The credential in the header `Authorization`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization<'h> {
    /// There is no such header.
    None,
    /// The token of a bearer, unchecked; it may be empty.
    Bearer(&'h [u8]),
    /// A credential of another scheme.
    Other,
}

/// The request headers that this protocol defines, each of which may be sent only once, and the size of all headers.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeshHeaders<'h> {
    /// `X-Mesh-Query`.
    pub query: Option<&'h HeaderValue>,
    /// `X-Mesh-Query-Id`.
    pub query_id: Option<&'h HeaderValue>,
    /// `X-Mesh-Params`.
    pub params: Option<&'h HeaderValue>,
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
    /// `Authorization`. A server without bearers ignores it, so only [`MeshHeaders::authorization`] refuses
    /// repetitions.
    authorization: Option<&'h HeaderValue>,
    authorization_repeated: bool,
    /// Whether `X-Mesh-View-As` is present.
    has_view: bool,
    /// The size of all names and values, in bytes.
    pub size: usize,
    /// The first repeated header of the protocol.
    repeated: Option<&'static str>,
}

impl<'h> MeshHeaders<'h> {
    /// Collects the headers. Call [`MeshHeaders::reject_repeated`] before using them.
    pub fn scan(headers: &'h HeaderMap) -> Self {
        let mut found = Self::default();
        for (name, value) in headers {
            // Names in a `HeaderMap` are lowercase.
            let text = name.as_str();
            found.size += text.len() + value.len();
            let (slot, name) = match text {
                "x-mesh-query" => (&mut found.query, QUERY),
                "x-mesh-query-id" => (&mut found.query_id, QUERY_ID),
                "x-mesh-params" => (&mut found.params, PARAMS),
                "x-mesh-format" => (&mut found.format, FORMAT),
                "x-mesh-signature" => (&mut found.signature, SIGNATURE),
                "x-mesh-token" => (&mut found.token, TOKEN),
                "x-mesh-timestamp" => (&mut found.timestamp, TIMESTAMP),
                "x-mesh-nonce" => (&mut found.nonce, NONCE),
                "x-mesh-view-as" => {
                    found.has_view = true;
                    continue;
                }
                "authorization" => {
                    found.authorization_repeated |= found.authorization.replace(value).is_some();
                    continue;
                }
                _ => continue,
            };
            if slot.replace(value).is_some() {
                found.repeated.get_or_insert(name);
            }
        }
        found
    }

    /// Refuses repeated headers of the protocol, which two parties could read differently.
    ///
    /// # Errors
    /// 400 if one of them is repeated.
    pub fn reject_repeated(self) -> Result<Self, WireError> {
        self.repeated.map_or(Ok(self), |name| Err(repeated(name)))
    }

    /// Refuses `X-Mesh-View-As` on routes that serve the caller only as itself. `SPEC §13.3`
    ///
    /// # Errors
    /// 400 if the header is present.
    pub fn reject_view(&self) -> Result<(), WireError> {
        if !self.has_view {
            return Ok(());
        }
        Err(WireError::transport(format!("{VIEW_AS} is accepted by the routes of the playground only")))
    }

    /// Returns the credential in `Authorization`. `SPEC §17.1`
    ///
    /// # Errors
    /// 400 if the header is repeated.
    pub fn authorization(&self) -> Result<Authorization<'h>, WireError> {
        let Some(value) = self.authorization else { return Ok(Authorization::None) };
        if self.authorization_repeated {
            return Err(repeated("Authorization"));
        }
        let value = value.as_bytes().trim_ascii();
        let (scheme, rest) = value.split_at_checked(SCHEME.len()).unwrap_or((value, b""));
        let is_bearer = scheme.eq_ignore_ascii_case(SCHEME.as_bytes());
        match rest {
            [] if is_bearer => Ok(Authorization::Bearer(rest)),
            [b' ', token @ ..] if is_bearer => Ok(Authorization::Bearer(token.trim_ascii_start())),
            _ => Ok(Authorization::Other),
        }
    }

    /// Returns the undecoded query. `SPEC §2.3`, `SPEC §2.5`
    ///
    /// # Errors
    /// 400 unless there is exactly one query with a known format.
    pub fn raw_query(&self) -> Result<RawQuery<'h>, WireError> {
        match (non_empty(self.query, QUERY)?, non_empty(self.query_id, QUERY_ID)?) {
            (Some(query), None) => Ok(RawQuery::Text { format: self.query_format()?, raw: query.as_bytes() }),
            // The format of a registered query is stored with it, so the header is ignored.
            (None, Some(id)) => id.to_str().map(RawQuery::Id).map_err(|_| {
                WireError::transport(format!("{QUERY_ID} has characters that a query id cannot have"))
            }),
            (None, None) => Err(WireError::transport(format!(
                "The request has no query; send it in {QUERY} as base64, or its id in {QUERY_ID}"
            ))),
            (Some(_), Some(_)) => Err(WireError::transport(format!(
                "{QUERY} and {QUERY_ID} are mutually exclusive; send only one of them"
            ))),
        }
    }

    fn query_format(&self) -> Result<Format, WireError> {
        let Some(value) = self.format else { return Ok(Format::Json) };
        let format = value.to_str().ok().and_then(|name| name.parse::<Format>().ok());
        format.ok_or_else(|| WireError::transport(format!("{FORMAT} must be 'json' or 'ql'")))
    }

    /// Returns the parameter values. Their text is limited to `bound` bytes, like the text of a query. `SPEC §19.2`
    ///
    /// # Errors
    /// 400 if the value is not base64 of a JSON object, or is too long.
    pub fn param_values(&self, bound: usize) -> Result<Option<ParamValues>, WireError> {
        let Some(value) = self.params else { return Ok(None) };
        let text =
            base64::decode(value.as_bytes()).map_err(|error| not_base64(PARAMS, value.as_bytes(), error))?;
        parse_params(&text, PARAMS, bound).map(Some)
    }

    /// Refuses parameter values in the headers of a request whose query is not in the headers.
    ///
    /// # Errors
    /// 400 if there are any.
    pub fn reject_params(&self) -> Result<(), WireError> {
        match self.params {
            None => Ok(()),
            Some(_) => Err(WireError::transport(format!(
                "{PARAMS} is allowed only on reads whose query is in the headers; for a posted query, send 'params' in the body"
            ))),
        }
    }

    /// Returns the part that a signature covers: the query, or its id, or nothing if there is neither. `SPEC §7.4`
    pub fn statement(&self) -> &'h [u8] {
        self.query.or(self.query_id).map(HeaderValue::as_bytes).unwrap_or_default()
    }
}

fn non_empty<'h>(value: Option<&'h HeaderValue>, name: &str) -> Result<Option<&'h HeaderValue>, WireError> {
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
    fn each_header_is_found_and_may_be_sent_once() {
        let mut headers = HeaderMap::new();
        headers.insert("x-mesh-other", HeaderValue::from_static("x"));
        for name in MESH {
            headers.insert(name, HeaderValue::from_str(name).unwrap());
        }
        let found = MeshHeaders::scan(&headers).reject_repeated().unwrap();
        let all = [
            found.query,
            found.query_id,
            found.params,
            found.format,
            found.signature,
            found.token,
            found.timestamp,
            found.nonce,
        ];
        assert_eq!(all.map(|value| value.unwrap().to_str().unwrap()), MESH);
        assert_eq!(found.statement(), b"X-Mesh-Query");
        for name in MESH {
            let mut twice = headers.clone();
            twice.append(name, HeaderValue::from_static("again"));
            let error = MeshHeaders::scan(&twice).reject_repeated().unwrap_err();
            assert_eq!(error.status.as_u16(), 400);
            assert!(error.message.contains(name), "{}", error.message);
        }
    }

    #[test]
    fn the_bearer_is_what_follows_the_scheme() {
        let parse = |value: &'static str| {
            let headers =
                [(http::header::AUTHORIZATION, HeaderValue::from_static(value))].into_iter().collect();
            match MeshHeaders::scan(&headers).authorization().unwrap() {
                Authorization::Bearer(token) => Some(String::from_utf8(token.to_vec()).unwrap()),
                Authorization::Other => None,
                Authorization::None => panic!("the header is there"),
            }
        };
        for value in ["Bearer a.b", "bearer a.b", "BEARER   a.b ", " Bearer a.b"] {
            assert_eq!(parse(value).as_deref(), Some("a.b"), "{value}");
        }
        for value in ["Bearer", "Bearer ", "bearer  "] {
            assert_eq!(parse(value).as_deref(), Some(""), "{value}");
        }
        for value in ["Basic YTpi", "Bearera.b", "a.b", "", "Bear"] {
            assert_eq!(parse(value), None, "{value}");
        }
        assert_eq!(MeshHeaders::default().authorization(), Ok(Authorization::None));
    }

    #[test]
    fn the_statement_is_the_query_or_its_id() {
        let mut headers = HeaderMap::new();
        assert_eq!(MeshHeaders::scan(&headers).reject_repeated().unwrap().statement(), b"");
        headers.insert(QUERY_ID, HeaderValue::from_static("q_1"));
        assert_eq!(MeshHeaders::scan(&headers).reject_repeated().unwrap().statement(), b"q_1");
    }
}
