//! The compact form of a signed JWT: three parts of base64url, and the members of the header that select the key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde_json::{Map, Value};

use super::BearerFault;
use super::json::parse_object;

/// The maximum length of a bearer in bytes.
pub(super) const MAX_BYTES: usize = 16 * 1024;
/// The maximum length of a key id in bytes.
const KEY_ID_MAX: usize = 256;
/// The types of tokens that identify a caller, in lowercase. Tokens of other types have other uses, such as ending a
/// session.
const TYPES: [&str; 4] = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"];

/// A token whose signature is not yet verified.
pub(super) struct Compact<'t> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    /// Header and payload, which the signature covers.
    pub(super) signed: &'t [u8],
    pub(super) signature: Vec<u8>,
    payload: &'t [u8],
}

impl<'t> Compact<'t> {
    /// Splits a token and decodes its header. Members of the header that offer a key, such as `jwk` and `jku`, are ignored.
    pub(super) fn parse(token: &'t [u8]) -> Result<Self, BearerFault> {
        if token.len() > MAX_BYTES {
            return Err(BearerFault::TooLong { most: MAX_BYTES });
        }
        let mut dots = token.iter().enumerate().filter_map(|(at, byte)| (*byte == b'.').then_some(at));
        let (first, second) = match (dots.next(), dots.next(), dots.next(), dots.next(), dots.next()) {
            (Some(first), Some(second), None, ..) => (first, second),
            (Some(_), Some(_), Some(_), Some(_), None) => return Err(BearerFault::Encrypted),
            _ => return Err(BearerFault::Parts),
        };
        let part = |from: usize, to: usize| token.get(from..to).ok_or(BearerFault::Parts);
        let members = object("header", part(0, first)?)?;
        if members.contains_key("crit") {
            return Err(BearerFault::Critical);
        }
        check_type(&members)?;
        Ok(Self {
            algorithm: algorithm(&members)?,
            key_id: key_id(&members)?,
            signed: part(0, second)?,
            signature: decode("signature", part(second + 1, token.len())?)?,
            payload: part(first + 1, second)?,
        })
    }

    /// Decodes the claims. Call it after the signature is verified.
    pub(super) fn claims(&self) -> Result<Map<String, Value>, BearerFault> {
        object("payload", self.payload)
    }
}

fn decode(part: &'static str, text: &[u8]) -> Result<Vec<u8>, BearerFault> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| BearerFault::Base64 { part })
}

fn object(part: &'static str, text: &[u8]) -> Result<Map<String, Value>, BearerFault> {
    parse_object(&decode(part, text)?).ok_or(BearerFault::Json { part })
}

/// Returns the algorithm. Names are case-sensitive, and `none` is not an algorithm.
fn algorithm(members: &Map<String, Value>) -> Result<Algorithm, BearerFault> {
    let name = members.get("alg").and_then(Value::as_str);
    name.and_then(|name| name.parse().ok()).ok_or(BearerFault::Algorithm)
}

fn key_id(members: &Map<String, Value>) -> Result<Option<String>, BearerFault> {
    match members.get("kid") {
        None => Ok(None),
        Some(Value::String(id)) if id.len() <= KEY_ID_MAX => Ok(Some(id.clone())),
        Some(_) => Err(BearerFault::Key),
    }
}

fn check_type(members: &Map<String, Value>) -> Result<(), BearerFault> {
    match members.get("typ") {
        None => Ok(()),
        Some(Value::String(name)) if TYPES.contains(&name.to_ascii_lowercase().as_str()) => Ok(()),
        Some(_) => Err(BearerFault::Type),
    }
}
