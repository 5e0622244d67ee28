//! The identity of a request.

use std::borrow::Cow;
use std::fmt;

use super::{ClaimValue, Claims, SessionValue};

/// The user and session of a request. It is taken from a verified session, never from unverified input of the client.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The user's id; empty if the request is anonymous. No condition that refers to an empty id is true.
    pub user: String,
    /// The user's role, with a meaning that the application defines.
    pub role: Option<String>,
    /// The tenant that the user acts for, if several tenants share one database.
    pub tenant: Option<String>,
    /// The session's id; empty if the request is anonymous.
    pub session: String,
    /// Further values that the issuer of the session has attested.
    pub claims: Claims,
}

impl Principal {
    /// Creates a principal without role, tenant and claims.
    pub fn new(user: impl Into<String>, session: impl Into<String>) -> Self {
        Self { user: user.into(), role: None, tenant: None, session: session.into(), claims: Claims::new() }
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

    /// Adds a claim, or replaces the claim of that name.
    #[must_use]
    pub fn with_claim(mut self, name: impl Into<Box<str>>, value: impl Into<ClaimValue>) -> Self {
        self.claims.insert(name, value);
        self
    }

    /// Returns a value for conditions of policies.
    pub(super) fn value(&self, value: &SessionValue) -> Option<Cow<'_, ClaimValue>> {
        let text = match value {
            SessionValue::UserId => Some(&*self.user).filter(|user| !user.is_empty()),
            SessionValue::Role => self.role.as_deref(),
            SessionValue::Tenant => self.tenant.as_deref(),
            SessionValue::Session => Some(&*self.session).filter(|session| !session.is_empty()),
            SessionValue::Claim(name) => return self.claims.get(name).map(Cow::Borrowed),
        };
        text.map(|text| Cow::Owned(text.into()))
    }
}

/// Omits the session's id and the values of claims, which must not appear in logs.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("user", &self.user)
            .field("role", &self.role)
            .field("tenant", &self.tenant)
            .field("claims", &self.claims)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anonymous_principal_has_neither_a_user_nor_a_session() {
        let has = |principal: &Principal, value: SessionValue| principal.value(&value).is_some();
        let anonymous = Principal::new("", "").with_role("guest");
        assert!(!has(&anonymous, SessionValue::UserId) && !has(&anonymous, SessionValue::Session));
        assert!(has(&anonymous, SessionValue::Role));
        let known = Principal::new("7", "s");
        assert!(has(&known, SessionValue::UserId) && has(&known, SessionValue::Session));
    }
}
