//! The rules that a bearer must meet.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ring::digest;
use serde_json::{Map, Value};

use super::compact::Compact;
use super::keys::Thumbprint;
use super::names::{find, text};
use super::{BearerError, BearerFault, KeySet};
use crate::session::{ClaimsError, SessionClaims, from_unix_millis, unix_millis};
use crate::{Session, SessionId, token};

/// The last second that a time in a token may name: the end of the year 9999.
const LAST_SECOND: f64 = 253_402_300_799.0;

/// The rules of a server for bearers.
///
/// ```
/// use std::time::SystemTime;
///
/// use mesh_integrity::Secret;
/// use mesh_integrity::bearer::{BearerVerifier, KeySet};
///
/// # fn verify(jwks: &[u8], token: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// let verifier = BearerVerifier::new()
///     .issuer("https://login.example.com/")
///     .audience(["https://api.example.com"])
///     .role("realm_access.roles");
/// let keys = KeySet::from_jwks(jwks)?;
/// let opened = verifier.verify(token, &keys, SystemTime::now())?;
/// println!("{}", opened.session().user);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BearerVerifier {
    issuer: Option<String>,
    audience: Vec<String>,
    leeway: u64,
    id: String,
    role: Option<String>,
    roles: Vec<String>,
    tenant: Option<String>,
    claims: Vec<String>,
}

impl Default for BearerVerifier {
    fn default() -> Self {
        Self::new()
    }
}

impl BearerVerifier {
    /// Creates rules with a leeway of 30 seconds. The user's id is the claim `sub`, the role is `role`; any issuer and any
    /// audience are accepted.
    pub fn new() -> Self {
        Self {
            issuer: None,
            audience: Vec::new(),
            leeway: 30_000,
            id: "sub".to_owned(),
            role: Some("role".to_owned()),
            roles: Vec::new(),
            tenant: None,
            claims: Vec::new(),
        }
    }

    /// Sets the issuer, which the claim `iss` must equal.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets the audience: the claim `aud` must be or contain one of these texts.
    #[must_use]
    pub fn audience<S: Into<String>>(mut self, audience: impl IntoIterator<Item = S>) -> Self {
        self.audience = audience.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how far the issuer's clock may differ: bearers are accepted this long before their start and after their
    /// expiry.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = u64::try_from(leeway.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Sets the claim with the user's id.
    #[must_use]
    pub fn id(mut self, name: impl Into<String>) -> Self {
        self.id = name.into();
        self
    }

    /// Sets the claim with the role. If it is a list, the first text is the role, unless [`BearerVerifier::roles`]
    /// chooses another.
    #[must_use]
    pub fn role(mut self, name: impl Into<String>) -> Self {
        self.role = Some(name.into()).filter(|name: &String| !name.is_empty());
        self
    }

    /// Sets the recognized roles, by rank: the role of a bearer is the first of them that it has. Without one, it has
    /// no role.
    #[must_use]
    pub fn roles<S: Into<String>>(mut self, roles: impl IntoIterator<Item = S>) -> Self {
        self.roles = roles.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the claim with the tenant.
    #[must_use]
    pub fn tenant(mut self, name: impl Into<String>) -> Self {
        self.tenant = Some(name.into()).filter(|name: &String| !name.is_empty());
        self
    }

    /// Sets the claims that conditions of policies may use.
    #[must_use]
    pub fn claims<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.claims = names.into_iter().map(Into::into).collect();
        self
    }

    /// Verifies a token at a given time with [`BearerVerifier::open`] and [`BearerVerifier::check`].
    ///
    /// # Errors
    /// The errors of both methods.
    pub fn verify(&self, token: &[u8], keys: &KeySet, now: SystemTime) -> Result<OpenedBearer, BearerError> {
        let opened = self.open(token, keys)?;
        self.check(&opened, keys, now)?;
        Ok(opened)
    }

    /// Verifies the signature of a token, and reads its claims.
    ///
    /// The result depends only on these rules, the token's bytes and the keys, so a caller may cache it under the whole
    /// token for as long as it uses these rules. The result does not imply that the token is valid at any time; see
    /// [`BearerVerifier::check`].
    ///
    /// # Errors
    /// [`BearerError::Invalid`] or [`BearerError::UnknownKey`].
    pub fn open(&self, token: &[u8], keys: &KeySet) -> Result<OpenedBearer, BearerError> {
        let compact = Compact::parse(token)?;
        let key_id = compact.key_id.as_deref();
        let key = keys.verify(compact.algorithm, key_id, compact.signed, &compact.signature)?;
        let claims = compact.claims()?;
        self.check_parties(&claims)?;
        let expiry = seconds(claims.get("exp")).ok_or(BearerFault::Expiry)?;
        let start = match claims.get("nbf") {
            None => 0,
            start => seconds(start).ok_or(BearerFault::NotBefore)?,
        };
        let session = Session {
            user: self.user(&claims)?,
            session: session_id(compact.signed),
            role: self.role_of(&claims)?,
            tenant: self.tenant_of(&claims)?,
            claims: self.claims_of(&claims)?,
            expires_at: from_unix_millis(expiry),
        };
        Ok(OpenedBearer { session: Arc::new(session), start, expiry, key })
    }

    /// Checks that a token is valid at a given time, within the leeway, and that its key is still one of the issuer's
    /// keys.
    ///
    /// # Errors
    /// [`BearerError::Expired`], [`BearerError::Invalid`] if the token is not valid yet, or
    /// [`BearerError::UnknownKey`].
    pub fn check(&self, bearer: &OpenedBearer, keys: &KeySet, now: SystemTime) -> Result<(), BearerError> {
        let now = unix_millis(now);
        if !keys.contains(bearer.key) {
            Err(BearerError::UnknownKey)
        } else if bearer.expiry.saturating_add(self.leeway) <= now {
            Err(BearerError::Expired)
        } else if bearer.start > now.saturating_add(self.leeway) {
            Err(BearerFault::Early.into())
        } else {
            Ok(())
        }
    }

    fn check_parties(&self, claims: &Map<String, Value>) -> Result<(), BearerFault> {
        if let Some(issuer) = &self.issuer
            && claims.get("iss").and_then(Value::as_str) != Some(issuer)
        {
            return Err(BearerFault::Issuer);
        }
        let includes =
            |value: &Value| value.as_str().is_some_and(|text| self.audience.iter().any(|it| it == text));
        let is_meant = match claims.get("aud") {
            _ if self.audience.is_empty() => true,
            Some(Value::Array(values)) => values.iter().any(includes),
            Some(value) => includes(value),
            None => false,
        };
        if is_meant { Ok(()) } else { Err(BearerFault::Audience) }
    }

    fn user(&self, claims: &Map<String, Value>) -> Result<String, BearerFault> {
        find(claims, &self.id).and_then(text).filter(|id| fits(id)).ok_or_else(|| fault(&self.id))
    }

    /// Returns the role. In a list, values other than texts are ignored.
    fn role_of(&self, claims: &Map<String, Value>) -> Result<Option<String>, BearerFault> {
        let Some(name) = &self.role else { return Ok(None) };
        let held: Vec<String> = match find(claims, name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(values)) => values.iter().filter_map(text).collect(),
            Some(value) => vec![text(value).ok_or_else(|| fault(name))?],
        };
        let role = if self.roles.is_empty() {
            held.into_iter().next()
        } else {
            self.roles.iter().find(|role| held.contains(role)).cloned()
        };
        if role.as_deref().is_none_or(fits) { Ok(role) } else { Err(fault(name)) }
    }

    fn tenant_of(&self, claims: &Map<String, Value>) -> Result<Option<String>, BearerFault> {
        let Some(name) = &self.tenant else { return Ok(None) };
        match find(claims, name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => text(value).filter(|tenant| fits(tenant)).map(Some).ok_or_else(|| fault(name)),
        }
    }

    fn claims_of(&self, claims: &Map<String, Value>) -> Result<SessionClaims, BearerFault> {
        let found = self.claims.iter().filter_map(|name| Some((name.clone(), find(claims, name)?.clone())));
        let found = found.filter(|(_, value)| !value.is_null());
        SessionClaims::new(found.collect()).map_err(|error| match error {
            ClaimsError::Value { name } => BearerFault::Claim { name },
            ClaimsError::TooLong => BearerFault::ClaimsTooLong,
        })
    }
}

/// A token whose signature has been verified. It may have expired.
#[derive(Clone)]
pub struct OpenedBearer {
    session: Arc<Session>,
    /// Milliseconds since the Unix epoch.
    start: u64,
    expiry: u64,
    key: Thumbprint,
}

impl OpenedBearer {
    /// Returns the caller as a session, which ends when the token expires. [`BearerVerifier::check`] accepts the token
    /// longer by the leeway. The session id is derived from the signed part of the token.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }
}

impl std::fmt::Debug for OpenedBearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenedBearer").field("session", &self.session).finish_non_exhaustive()
    }
}

fn fault(name: &str) -> BearerFault {
    BearerFault::Claim { name: name.to_owned() }
}

/// Returns whether a text fits into the token of a session.
fn fits(text: &str) -> bool {
    text.len() <= token::FIELD_MAX
}

/// Converts a number of seconds, which may have a fraction, to a time in milliseconds since the Unix epoch.
fn seconds(value: Option<&Value>) -> Option<u64> {
    let seconds = value?.as_f64().filter(|seconds| (0.0..=LAST_SECOND).contains(seconds))?;
    Some((seconds * 1_000.0) as u64)
}

/// Returns the first half of the digest of the signed part. A digest of the whole token would change if the signature
/// were encoded in another form.
fn session_id(signed: &[u8]) -> SessionId {
    let digest = digest::digest(&digest::SHA256, signed);
    let mut id = [0; 16];
    id.iter_mut().zip(digest.as_ref()).for_each(|(byte, from)| *byte = *from);
    SessionId(id)
}
