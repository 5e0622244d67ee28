//! Identities and sessions.

use std::fmt;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};

/// Whom credentials belong to, as an [`crate::Authenticator`] says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The user's id.
    pub user: String,
    /// What the user may do, in the application's words.
    pub role: Option<String>,
    /// Whose data it is, where several parties share a deployment.
    pub tenant: Option<String>,
    /// What the application adds to the reply of a login. It is not part of the token.
    pub extra: Map<String, Value>,
}

impl Identity {
    /// A user without role and tenant.
    pub fn new(user: impl Into<String>) -> Self {
        Self { user: user.into(), ..Self::default() }
    }

    /// The same with a role.
    #[must_use]
    pub fn with_role(mut self, role: impl Into<String>) -> Self {
        self.role = Some(role.into());
        self
    }

    /// The same with a tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }
}

/// A user's stay between login and logout, as a token that was verified says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The user's id.
    pub user: String,
    /// Which of the user's sessions it is.
    pub session: SessionId,
    /// What the user may do, in the application's words.
    pub role: Option<String>,
    /// Whose data it is, where several parties share a deployment.
    pub tenant: Option<String>,
    /// When it ends by itself, in milliseconds since the Unix epoch.
    pub expires_at: u64,
}

/// The id of a session: 16 bytes that no other session has, shown as 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub [u8; 16]);

impl SessionId {
    /// Reads the 32 lowercase digits.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_as_text() {
        let id = SessionId([0x0a; 16]);
        assert_eq!(id.to_string(), "0a".repeat(16));
        assert_eq!(SessionId::parse(&id.to_string()), Some(id));
        assert_eq!(SessionId::parse("0a"), None);
    }
}
