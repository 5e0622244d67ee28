//! Decoding of execute bodies.

use http::HeaderMap;
use mesh_ql::ParamValues;
use mesh_wire::WireError;
use mesh_wire::request::{PostBody, decode_body, parse_params};
use serde::Deserialize;

/// A decoded body: that of a posted read with two further members, which extend the protocol.
#[derive(Debug)]
pub(super) struct Posted {
    /// The query, and the id of a point read.
    pub(super) read: PostBody,
    /// The values of parameters.
    pub(super) params: Option<ParamValues>,
    pub(super) switches: Switches,
}

/// Further members of a body.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Switches {
    /// Whether to plan the query without running it.
    pub(super) check: bool,
    /// Whether to return the query plans of the database.
    pub(super) explain: bool,
}

impl Posted {
    /// Decodes a body. The values of parameters may have at most `params_max` bytes.
    pub(super) fn decode(headers: &HeaderMap, body: &[u8], params_max: usize) -> Result<Self, WireError> {
        let read = decode_body(headers, body)?;
        let params = read.params.as_deref();
        let params = params.map(|text| parse_params(text, "'params' in the body", params_max)).transpose()?;
        let switches = serde_json::from_slice(body).map_err(|_| {
            WireError::transport("'check' in the body must be true or false, and so must 'explain'")
        })?;
        Ok(Self { read, params, switches })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::CONTENT_TYPE;
    use mesh_wire::request::PostedId;

    use super::*;

    fn decode(body: &str) -> Result<Posted, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        Posted::decode(&headers, body.as_bytes(), 100).map_err(|error| error.to_string())
    }

    #[test]
    fn ids_keep_their_digits() {
        let id = |body| decode(body).unwrap().read.id;
        let text = |text: &str| Some(PostedId::Text(text.to_owned()));
        assert_eq!(id(r#"{"query":"q","id":9007199254740993}"#), text("9007199254740993"));
        assert_eq!(id(r#"{"query":"q","id":"a b"}"#), text("a b"));
        let parts = Some(PostedId::Parts(vec!["1".to_owned(), "a,b".to_owned()]));
        assert_eq!(id(r#"{"query":"q","id":[1,"a,b"]}"#), parts);
        assert_eq!(id(r#"{"query":"q","more":{}}"#), None);
    }

    #[test]
    fn invalid_bodies_are_refused_with_the_reason() {
        let long = "a".repeat(93);
        let cases = [
            ("[]", "must be a JSON object"),
            ("{", "not a valid JSON object"),
            (r#"{"format":"ql"}"#, "no 'query'"),
            (r#"{"query":1}"#, "'query' in the body must be a string"),
            (r#"{"query":"q","format":"xml"}"#, "\"json\" or \"ql\""),
            (r#"{"query":"q","id":null}"#, "'id' in the body"),
            (r#"{"query":"q","check":1}"#, "'check' in the body"),
            (r#"{"query":"q","query":"p"}"#, "duplicate field"),
            (r#"{"query":"q","params":null}"#, "'params' in the body"),
            (&format!(r#"{{"query":"q","params":{{"p":"{long}"}}}}"#), "the bound `query_bytes` is 100"),
        ];
        for (body, words) in cases {
            let error = decode(body).unwrap_err();
            assert!(error.contains(words), "{body}: {error}");
        }
    }
}
