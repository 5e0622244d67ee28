//! Which of the protocol's own headers does a request have? All of them, found in one pass.

use http::{HeaderMap, HeaderValue};

use super::{FORMAT, NONCE, QUERY, QUERY_ID, SIGNATURE, TIMESTAMP, TOKEN, repeated};
use crate::WireError;

/// The headers that only this protocol knows. Each may stand once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own<'h> {
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
}

impl<'h> Own<'h> {
    /// Finds them, and refuses any that stands twice: whoever takes the first and whoever takes the last would
    /// see two different requests.
    pub fn read(headers: &'h HeaderMap) -> Result<Self, WireError> {
        let mut own = Self::default();
        for (name, value) in headers {
            // The names of a map are in lowercase.
            let Some(rest) = name.as_str().strip_prefix("x-mesh-") else { continue };
            let (place, name) = match rest {
                "query" => (&mut own.query, QUERY),
                "query-id" => (&mut own.query_id, QUERY_ID),
                "format" => (&mut own.format, FORMAT),
                "signature" => (&mut own.signature, SIGNATURE),
                "token" => (&mut own.token, TOKEN),
                "timestamp" => (&mut own.timestamp, TIMESTAMP),
                "nonce" => (&mut own.nonce, NONCE),
                _ => continue,
            };
            if place.replace(value).is_some() {
                return Err(repeated(name));
            }
        }
        Ok(own)
    }

    /// What a signature covers of them: the query, else its id, else nothing. `SPEC §7.4`
    pub fn statement(&self) -> &'h [u8] {
        self.query.or(self.query_id).map(HeaderValue::as_bytes).unwrap_or_default()
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
        let own = Own::read(&headers).unwrap();
        let all = [own.query, own.query_id, own.format, own.signature, own.token, own.timestamp, own.nonce];
        assert_eq!(all.map(|value| value.unwrap().to_str().unwrap()), MESH);
        assert_eq!(own.statement(), b"X-Mesh-Query");
        for name in MESH {
            let mut twice = headers.clone();
            twice.append(name, HeaderValue::from_static("again"));
            let error = Own::read(&twice).unwrap_err();
            assert_eq!(error.status.as_u16(), 400);
            assert!(error.message.contains(name), "{}", error.message);
        }
    }

    #[test]
    fn statements() {
        let mut headers = HeaderMap::new();
        assert_eq!(Own::read(&headers).unwrap().statement(), b"");
        headers.insert(QUERY_ID, HeaderValue::from_static("q_1"));
        assert_eq!(Own::read(&headers).unwrap().statement(), b"q_1");
    }
}
