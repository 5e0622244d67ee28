//! Decoding of execute bodies.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use mesh_plan::mutation::JsonId;
use mesh_ql::{Format, ParamValues};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::Error;

/// A decoded body: `{query, format?, id?, params?, check?, explain?}`. The last two extend the protocol.
#[derive(Debug, PartialEq)]
pub(super) struct Posted {
    pub(super) format: Format,
    pub(super) text: String,
    /// The id of a point read.
    pub(super) id: Option<JsonId>,
    /// The values of parameters.
    pub(super) params: Option<ParamValues>,
    /// Whether to plan the query without running it.
    pub(super) check: bool,
    /// Whether to return the query plans of the database.
    pub(super) explain: bool,
}

/// The undecoded members. Unknown members are ignored, duplicate ones refused.
#[derive(Deserialize)]
struct Members<'b> {
    #[serde(default, borrow, deserialize_with = "written")]
    query: Option<&'b RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    format: Option<&'b RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    id: Option<&'b RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    params: Option<&'b RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    check: Option<&'b RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    explain: Option<&'b RawValue>,
}

/// Deserializes a value that is present, even if it is `null`.
fn written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Posted {
    /// Decodes a body. The values of parameters may have at most `params_max` bytes.
    pub(super) fn decode(headers: &HeaderMap, body: &[u8], params_max: usize) -> Result<Self, Error> {
        if !is_json(headers) {
            return Err(Error::NotJson);
        }
        let wrong = |why: &str| Error::Body(why.to_owned());
        let text = std::str::from_utf8(body).map_err(|_| wrong("The body is not UTF-8"))?;
        if !text.trim_ascii_start().starts_with('{') {
            return Err(wrong("The body must be a JSON object {query, format?, id?}"));
        }
        let members: Members<'_> = serde_json::from_str(text)
            .map_err(|error| Error::Body(format!("The body is not a valid JSON object: {error}")))?;
        let query = members.query.ok_or_else(|| wrong("The body has no 'query'"))?;
        let format = match members.format {
            None => Format::Json,
            Some(format) => parsed::<String>(format)
                .and_then(|name| name.parse::<Format>().ok())
                .ok_or_else(|| wrong("'format' in the body must be \"json\" or \"ql\""))?,
        };
        let id = members.id.map(|id| {
            let wrong = || wrong("'id' in the body must be a string, a number or an array of the id's parts");
            JsonId::parse(id.get()).ok_or_else(wrong)
        });
        let switch = |name: &str, value: Option<&RawValue>| match value {
            None => Ok(false),
            Some(value) => parsed::<bool>(value)
                .ok_or_else(|| Error::Body(format!("'{name}' in the body must be true or false"))),
        };
        Ok(Self {
            format,
            text: parsed(query).ok_or_else(|| wrong("'query' in the body must be a string"))?,
            id: id.transpose()?,
            params: members.params.map(|values| params(values, params_max)).transpose()?,
            check: switch("check", members.check)?,
            explain: switch("explain", members.explain)?,
        })
    }
}

/// Returns whether the content type is JSON, which pages of other origins cannot send without a CORS preflight.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else { return false };
    let kind = only.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn parsed<'v, T: Deserialize<'v>>(value: &'v RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

fn params(value: &RawValue, bound: usize) -> Result<ParamValues, Error> {
    let bytes = value.get().len();
    if bytes > bound {
        return Err(Error::ParamsTooLong { bytes, bound });
    }
    let wrong = |error| Error::Body(format!("'params' in the body is not a JSON object of values: {error}"));
    ParamValues::parse(value.get()).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn decode(body: &str) -> Result<Posted, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        Posted::decode(&headers, body.as_bytes(), 100).map_err(|error| error.to_string())
    }

    #[test]
    fn ids_keep_their_digits() {
        let id = |body| decode(body).unwrap().id;
        let text = |text: &str| Some(JsonId::Text(text.to_owned()));
        assert_eq!(id(r#"{"query":"q","id":9007199254740993}"#), text("9007199254740993"));
        assert_eq!(id(r#"{"query":"q","id":"a b"}"#), text("a b"));
        let parts = Some(JsonId::Parts(vec!["1".to_owned(), "a,b".to_owned()]));
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

    #[test]
    fn only_json_content_types_are_accepted() {
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
            assert!(matches!(Posted::decode(&headers, b"{}", 100), Err(Error::NotJson)), "{kind}");
        }
        assert!(matches!(Posted::decode(&HeaderMap::new(), b"{}", 100), Err(Error::NotJson)));
    }
}
