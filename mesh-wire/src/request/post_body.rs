//! The body of `POST {base}`. `SPEC §2.7`

use http::HeaderMap;
use mesh_ql::Format;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::check_json;
use crate::WireError;

/// A decoded body.
#[derive(Clone, Debug, PartialEq)]
pub struct PostBody {
    /// The format of the text.
    pub format: Format,
    /// The text of the query, not encoded as base64.
    pub text: String,
    /// The record's id, for a point read.
    pub id: Option<PostedId>,
    /// The JSON text of the parameter values, or of the parameter declarations.
    pub params: Option<String>,
}

/// The id of a record in a body. Numbers keep their spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostedId {
    /// A string or a number.
    Text(String),
    /// An array with the parts of an id: strings, numbers and truth values. `SPEC §15`
    Parts(Vec<String>),
}

impl PostedId {
    /// Parses the JSON text of an id; `None` if it is not an id.
    pub fn parse(json: &str) -> Option<Self> {
        if !json.starts_with('[') {
            return scalar(json).map(Self::Text);
        }
        let parts: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        let part = |part: &&RawValue| match part.get() {
            truth @ ("true" | "false") => Some(truth.to_owned()),
            json => scalar(json),
        };
        parts.iter().map(part).collect::<Option<_>>().map(Self::Parts)
    }
}

fn scalar(json: &str) -> Option<String> {
    serde_json::from_str(json).ok().or_else(|| number(json))
}

/// Decodes the body of a posted read: `{query, format?, id?, params?}`.
///
/// Unknown members are ignored. Repeated ones are refused, because two parsers could use different values.
///
/// # Errors
/// 415 if the content type is not JSON; 400 if the body is not such an object.
pub fn decode_body(headers: &HeaderMap, body: &[u8]) -> Result<PostBody, WireError> {
    check_json(headers)?;
    let text = std::str::from_utf8(body).map_err(|error| {
        WireError::transport(format!("The body is not valid UTF-8 at byte {}", error.valid_up_to() + 1))
    })?;
    if !text.trim_ascii_start().starts_with('{') {
        return Err(WireError::transport("The body must be a JSON object {query, format?, id?}"));
    }
    let members: Members<'_> = serde_json::from_str(text)
        .map_err(|error| WireError::transport(format!("The body is not a valid JSON object: {error}")))?;
    let query = members.query.ok_or_else(|| WireError::transport("The body has no 'query'"))?;
    let query = string(query).ok_or_else(|| WireError::transport("'query' in the body must be a string"))?;
    let format = match members.format {
        None => Format::Json,
        Some(format) => string(format)
            .and_then(|name| name.parse::<Format>().ok())
            .ok_or_else(|| WireError::transport("'format' in the body must be \"json\" or \"ql\""))?,
    };
    let id = members.id.map(|id| {
        let id = PostedId::parse(id.get());
        id.ok_or_else(|| {
            WireError::transport("'id' in the body must be a string, a number or an array of the id's parts")
        })
    });
    let params = members.params.map(|params| params.get().to_owned());
    Ok(PostBody { format, text: query, id: id.transpose()?, params })
}

fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// Returns the text of a number, so that ids of more than 53 or 64 bits stay exact. JSON has one spelling for each
/// integer except zero.
fn number(text: &str) -> Option<String> {
    match text {
        "-0" => Some("0".to_owned()),
        _ => text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| text.to_owned()),
    }
}

/// The known members, undecoded.
#[derive(Deserialize)]
struct Members<'b> {
    #[serde(borrow, default, deserialize_with = "present")]
    query: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    format: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'b RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'b RawValue>,
}

/// Deserializes a member that is present. Unlike by default, `null` is a value.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}
