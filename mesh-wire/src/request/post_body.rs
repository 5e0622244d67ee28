//! The body of `POST {base}`. `SPEC §2.7`

use std::fmt;

use http::HeaderMap;
use mesh_ql::Format;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::is_json;
use crate::WireError;

/// A decoded body.
#[derive(Clone, Debug, PartialEq)]
pub struct PostBody {
    /// The format of the text.
    pub format: Format,
    /// The text of the query, not encoded as base64.
    pub text: String,
    /// The record's id, for a point read. A number keeps its spelling.
    pub id: Option<String>,
}

/// Decodes the body of a posted read: `{query, format?, id?}`.
///
/// Unknown members are ignored. Repeated ones are refused, because two parsers could use different values.
///
/// # Errors
/// 415 if the content type is not JSON; 400 if the body is not such an object.
pub fn decode_body(headers: &HeaderMap, body: &[u8]) -> Result<PostBody, WireError> {
    if !is_json(headers) {
        return Err(WireError::unsupported_media_type());
    }
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
            .and_then(|name| Format::parse(&name))
            .ok_or_else(|| WireError::transport("'format' in the body must be \"json\" or \"ql\""))?,
    };
    let id = match members.id {
        None => None,
        Some(id) => Some(
            string(id)
                .or_else(|| number(id))
                .ok_or_else(|| WireError::transport("'id' in the body must be a string or a number"))?,
        ),
    };
    Ok(PostBody { format, text: query, id })
}

fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// Returns the text of a number, so that ids of more than 53 or 64 bits stay exact. JSON has one spelling for each
/// integer except zero.
fn number(value: &RawValue) -> Option<String> {
    let text = value.get();
    match text {
        "-0" => Some("0".to_owned()),
        _ => text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| text.to_owned()),
    }
}

/// The known members, undecoded.
#[derive(Default)]
struct Members<'de> {
    query: Option<&'de RawValue>,
    format: Option<&'de RawValue>,
    id: Option<&'de RawValue>,
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object {query, format?, id?}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Members::default();
        while let Some(key) = map.next_key::<String>()? {
            let slot = match key.as_str() {
                "query" => &mut members.query,
                "format" => &mut members.format,
                "id" => &mut members.id,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if slot.replace(map.next_value()?).is_some() {
                return Err(A::Error::custom(format_args!("'{key}' is repeated")));
            }
        }
        Ok(members)
    }
}
