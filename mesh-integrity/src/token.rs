//! Tokens: sessions sealed by a MAC. `SPEC §7.2`
//!
//! A token is `tok_` and the unpadded base64url form of a payload and the 32 bytes of its HMAC-SHA256 under the token key.
//! Numbers in the payload are big-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 1 | version of the layout: 1 without claims, 2 with claims |
//! | 8 | expiry in milliseconds since the Unix epoch |
//! | 16 | session id |
//! | 1 + n | user: length in bytes and UTF-8 text |
//! | 1 + n | role, in the same form; length 255 without text if there is none |
//! | 1 + n | tenant, like role |
//! | 2 + n | layout 2: claims, length in bytes and a JSON object |

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::HEXLOWER;
use ring::hmac;

use crate::session::{from_unix_millis, unix_millis};
use crate::{IntegrityError, Keys, Session, SessionClaims, SessionId, SigningKey};

/// The prefix of all tokens.
const PREFIX: &str = "tok_";
/// The first byte of a payload without claims.
const LAYOUT: u8 = 1;
/// The first byte of a payload with claims.
const LAYOUT_WITH_CLAIMS: u8 = 2;
/// The length of the MAC in bytes.
const TAG: usize = 32;
/// The maximum length of user, role and tenant, in bytes.
pub(crate) const FIELD_MAX: usize = 254;
/// The length byte of an absent field.
const ABSENT: u8 = 255;
/// The length of the longest payload with its MAC, in bytes.
const SEALED_MAX: usize = 1 + 8 + 16 + 3 * (1 + FIELD_MAX) + 2 + SessionClaims::MAX_BYTES + TAG;

/// Seals a session in a token under the current key.
///
/// # Errors
/// [`FieldTooLong`] if user, role or tenant has more than 254 bytes.
pub fn seal(keys: &Keys, session: &Session) -> Result<String, FieldTooLong> {
    let mut bytes = Vec::with_capacity(128);
    bytes.push(if session.claims.is_empty() { LAYOUT } else { LAYOUT_WITH_CLAIMS });
    bytes.extend_from_slice(&unix_millis(session.expires_at).to_be_bytes());
    bytes.extend_from_slice(&session.session.0);
    write_field(&mut bytes, "user", Some(&session.user))?;
    write_field(&mut bytes, "role", session.role.as_deref())?;
    write_field(&mut bytes, "tenant", session.tenant.as_deref())?;
    if !session.claims.is_empty() {
        let claims = session.claims.to_json();
        let length = u16::try_from(claims.len());
        let length = length.map_err(|_| FieldTooLong { name: "claims", length: claims.len() })?;
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&claims);
    }
    let tag = hmac::sign(&keys.current.token, &bytes);
    bytes.extend_from_slice(tag.as_ref());
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(&bytes)))
}

fn write_field(bytes: &mut Vec<u8>, name: &'static str, text: Option<&str>) -> Result<(), FieldTooLong> {
    let Some(text) = text else {
        bytes.push(ABSENT);
        return Ok(());
    };
    let length = u8::try_from(text.len()).ok().filter(|length| usize::from(*length) <= FIELD_MAX);
    bytes.push(length.ok_or(FieldTooLong { name, length: text.len() })?);
    bytes.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Derives the signing token of a token under the current key. `SPEC §7.3`
pub fn signing_token(keys: &Keys, token: &str) -> String {
    signing_digits(&keys.current.signing, token)
}

/// Returns the 64 characters of a signing token.
fn signing_digits(key: &hmac::Key, token: &str) -> String {
    HEXLOWER.encode(hmac::sign(key, token.as_bytes()).as_ref())
}

/// A token whose MAC has been verified: its session and the key of its signatures. The session may have expired or
/// been revoked.
#[derive(Clone)]
pub struct OpenedToken {
    session: Arc<Session>,
    pub(crate) key: SigningKey,
}

impl OpenedToken {
    /// Returns the session that the token carries.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }
}

impl fmt::Debug for OpenedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedToken").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Opens a token under the current key or a previous one. The MAC is verified before any field is decoded.
///
/// # Errors
/// [`IntegrityError::TokenInvalid`].
pub fn open(keys: &Keys, token: &str) -> Result<OpenedToken, IntegrityError> {
    let invalid = || IntegrityError::TokenInvalid;
    let text = token.strip_prefix(PREFIX).ok_or_else(invalid)?;
    let mut buffer = [0; SEALED_MAX];
    // Texts longer than any token do not fit into the buffer.
    let length = URL_SAFE_NO_PAD.decode_slice(text, &mut buffer).map_err(|_| invalid())?;
    let bytes = buffer.get(..length).ok_or_else(invalid)?;
    let (payload, tag) = bytes.split_at_checked(length.saturating_sub(TAG)).ok_or_else(invalid)?;
    let pair = keys.pairs().find(|pair| hmac::verify(&pair.token, payload, tag).is_ok());
    let pair = pair.ok_or_else(invalid)?;
    let session = decode_session(payload).ok_or_else(invalid)?;
    let key = SigningKey::new(&signing_digits(&pair.signing, token));
    Ok(OpenedToken { session: Arc::new(session), key })
}

fn decode_session(payload: &[u8]) -> Option<Session> {
    let (layout, rest) = payload.split_first()?;
    let (expires_at, rest) = rest.split_first_chunk()?;
    let (session, rest) = rest.split_first_chunk()?;
    let (user, rest) = read_field(rest)?;
    let (role, rest) = read_field(rest)?;
    let (tenant, rest) = read_field(rest)?;
    let claims = match *layout {
        LAYOUT if rest.is_empty() => SessionClaims::default(),
        LAYOUT_WITH_CLAIMS => read_claims(rest)?,
        _ => return None,
    };
    let expires_at = from_unix_millis(u64::from_be_bytes(*expires_at));
    Some(Session { user: user?, session: SessionId(*session), role, tenant, claims, expires_at })
}

/// Reads the last field of a payload with claims.
fn read_claims(bytes: &[u8]) -> Option<SessionClaims> {
    let (length, text) = bytes.split_first_chunk()?;
    (usize::from(u16::from_be_bytes(*length)) == text.len()).then(|| SessionClaims::from_json(text))?
}

fn read_field(bytes: &[u8]) -> Option<(Option<String>, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    if *length == ABSENT {
        return Some((None, rest));
    }
    let (text, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((Some(std::str::from_utf8(text).ok()?.to_owned()), rest))
}

/// A field of an identity that does not fit into a token.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the {name} of the identity has {length} bytes; at most {FIELD_MAX} fit into a token")]
pub struct FieldTooLong {
    /// The name of the field.
    pub name: &'static str,
    /// The length of the field in bytes.
    pub length: usize,
}

#[cfg(test)]
mod tests;
