//! Tokens: sessions sealed by a MAC. `SPEC §7.2`
//!
//! The text is `tok_` and base64url without padding of a payload followed by the 32 bytes of its
//! HMAC-SHA256 under the token key. The payload, numbers big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the number 1, for this layout |
//! | 8 | expiry, milliseconds since the Unix epoch |
//! | 16 | session id |
//! | 1 + n | user: its length in bytes, then its UTF-8 text |
//! | 1 + n | role, the same; length 255 and no text where there is none |
//! | 1 + n | tenant, the same |

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::HEXLOWER;
use ring::hmac;

use crate::{IntegrityError, Keys, Session, SessionId};

/// What every token begins with.
const PREFIX: &str = "tok_";
/// The first byte of the payload.
const LAYOUT: u8 = 1;
/// Bytes of the MAC.
const TAG: usize = 32;
/// Bytes that user, role and tenant may each have.
const FIELD_MAX: usize = 254;
/// The length that says that there is no text.
const ABSENT: u8 = 255;
/// Bytes of the longest payload with its MAC.
const SEALED_MAX: usize = 1 + 8 + 16 + 3 * (1 + FIELD_MAX) + TAG;

/// The token of a session under the current key.
///
/// # Errors
/// When user, role or tenant has more than 254 bytes.
pub fn seal(keys: &Keys, session: &Session) -> Result<String, FieldTooLong> {
    let mut bytes = Vec::with_capacity(128);
    bytes.push(LAYOUT);
    bytes.extend_from_slice(&session.expires_at.to_be_bytes());
    bytes.extend_from_slice(&session.session.0);
    field(&mut bytes, "user", Some(&session.user))?;
    field(&mut bytes, "role", session.role.as_deref())?;
    field(&mut bytes, "tenant", session.tenant.as_deref())?;
    let tag = hmac::sign(&keys.current.token, &bytes);
    bytes.extend_from_slice(tag.as_ref());
    let mut token = String::with_capacity(PREFIX.len() + bytes.len().div_ceil(3) * 4);
    token.push_str(PREFIX);
    URL_SAFE_NO_PAD.encode_string(&bytes, &mut token);
    Ok(token)
}

fn field(bytes: &mut Vec<u8>, name: &'static str, text: Option<&str>) -> Result<(), FieldTooLong> {
    let Some(text) = text else {
        bytes.push(ABSENT);
        return Ok(());
    };
    let length = u8::try_from(text.len()).ok().filter(|length| usize::from(*length) <= FIELD_MAX);
    bytes.push(length.ok_or(FieldTooLong { name, length: text.len() })?);
    bytes.extend_from_slice(text.as_bytes());
    Ok(())
}

/// The signing token that belongs to a token of this deployment, under the current key. `SPEC §7.3`
pub fn signing_token(keys: &Keys, token: &str) -> String {
    signing_digits(&keys.current.signing, token)
}

/// The 64 characters of a signing token.
fn signing_digits(key: &hmac::Key, token: &str) -> String {
    let tag = hmac::sign(key, token.as_bytes());
    HEXLOWER.encode(tag.as_ref())
}

/// A token whose MAC has been verified: its session and the key of its signatures. The session may have expired or
/// been revoked.
#[derive(Clone)]
pub struct OpenedToken {
    session: Arc<Session>,
    pub(crate) key: hmac::Key,
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

/// Opens a token under the current key or a previous one. No field of it is read before the MAC is right.
///
/// # Errors
/// [`IntegrityError::TokenInvalid`], whatever is wrong with it.
pub fn open(keys: &Keys, token: &str) -> Result<OpenedToken, IntegrityError> {
    let invalid = || IntegrityError::TokenInvalid;
    let text = token.strip_prefix(PREFIX).ok_or_else(invalid)?;
    let mut buffer = [0; SEALED_MAX];
    // Longer texts than any token do not fit, and are refused with the rest.
    let length = URL_SAFE_NO_PAD.decode_slice(text, &mut buffer).map_err(|_| invalid())?;
    let bytes = buffer.get(..length).ok_or_else(invalid)?;
    let (payload, tag) = bytes.split_at_checked(length.saturating_sub(TAG)).ok_or_else(invalid)?;
    let pair = keys.pairs().find(|pair| hmac::verify(&pair.token, payload, tag).is_ok());
    let pair = pair.ok_or_else(invalid)?;
    let session = read(payload).ok_or_else(invalid)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, signing_digits(&pair.signing, token).as_bytes());
    Ok(OpenedToken { session: Arc::new(session), key })
}

fn read(payload: &[u8]) -> Option<Session> {
    let (layout, rest) = payload.split_first()?;
    let (expires_at, rest) = rest.split_first_chunk()?;
    let (session, rest) = rest.split_first_chunk()?;
    let (user, rest) = text(rest)?;
    let (role, rest) = text(rest)?;
    let (tenant, rest) = text(rest)?;
    let expires_at = u64::from_be_bytes(*expires_at);
    let session = Session { user: user?, session: SessionId(*session), role, tenant, expires_at };
    (*layout == LAYOUT && rest.is_empty()).then_some(session)
}

fn text(bytes: &[u8]) -> Option<(Option<String>, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    if *length == ABSENT {
        return Some((None, rest));
    }
    let (text, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((Some(std::str::from_utf8(text).ok()?.to_owned()), rest))
}

/// An identity does not fit into a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTooLong {
    /// Which part of it.
    pub name: &'static str,
    /// How many bytes that has.
    pub length: usize,
}

impl fmt::Display for FieldTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, length } = self;
        write!(f, "the {name} of an identity has {length} bytes; {FIELD_MAX} are the most that a token holds")
    }
}

impl std::error::Error for FieldTooLong {}

#[cfg(test)]
mod tests;
