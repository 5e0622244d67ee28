//! Identities and sessions.

mod claims;

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};

pub use claims::{ClaimsError, SessionClaims};

/// The user to whom credentials belong, as returned by an [`crate::Authenticator`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The user's id.
    pub user: String,
    /// The role, whose meaning the application defines.
    pub role: Option<String>,
    /// The tenant, if several share a deployment.
    pub tenant: Option<String>,
    /// Further values, which conditions of policies may use. They are part of the token.
    pub claims: SessionClaims,
    /// Members that are added to the reply to a login. They are not part of the token.
    pub extra: Map<String, Value>,
}

impl Identity {
    /// Creates the identity of a user without role and tenant.
    pub fn new(user: impl Into<String>) -> Self {
        Self { user: user.into(), ..Self::default() }
    }

    /// Sets the role.
    #[must_use]
    pub fn with_role(mut self, role: impl Into<String>) -> Self {
        self.role = Some(role.into());
        self
    }

    /// Sets the tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Sets the claims.
    #[must_use]
    pub fn with_claims(mut self, claims: SessionClaims) -> Self {
        self.claims = claims;
        self
    }
}

/// The session of a user, as decoded from a verified token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The user's id.
    pub user: String,
    /// The id of the session.
    pub session: SessionId,
    /// The role, whose meaning the application defines.
    pub role: Option<String>,
    /// The tenant, if several share a deployment.
    pub tenant: Option<String>,
    /// Further values, which conditions of policies may use.
    pub claims: SessionClaims,
    /// The time of expiry, with a precision of a millisecond.
    pub expires_at: SystemTime,
}

impl Session {
    /// Returns the identity of the user.
    pub fn identity(&self) -> Identity {
        let Self { user, role, tenant, claims, .. } = self.clone();
        Identity { role, tenant, claims, ..Identity::new(user) }
    }
}

/// The unique id of a session: 16 bytes, displayed as 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub [u8; 16]);

impl SessionId {
    /// Parses 32 lowercase hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({self})")
    }
}

/// Returns the milliseconds from the Unix epoch to a time; 0 for earlier times.
pub fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Converts milliseconds since the Unix epoch to a time. Returns the epoch, at which everything has expired, if the
/// system cannot represent the time.
pub(crate) fn from_unix_millis(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_have_what_was_set() {
        let identity = Identity::new("7").with_role("editor").with_tenant("acme");
        let (role, tenant) = (Some("editor".to_owned()), Some("acme".to_owned()));
        assert_eq!(identity, Identity { user: "7".to_owned(), role, tenant, ..Identity::default() });
    }

    #[test]
    fn displayed_ids_parse_to_themselves() {
        let id = SessionId([0x0a; 16]);
        assert_eq!(id.to_string(), "0a".repeat(16));
        assert_eq!(SessionId::parse(&id.to_string()), Some(id));
        assert_eq!(SessionId::parse("0a"), None);
    }
}
