//! Who is asking?

use std::fmt;

/// The identity behind a request, taken from a session that was checked before. Nothing here is ever filled
/// from what a client merely says of itself.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The user's id.
    pub user: String,
    /// What the user may do, in a word of the application's.
    pub role: Option<String>,
    /// For whom the user acts, where several share one database.
    pub tenant: Option<String>,
    /// The session's id.
    pub session: String,
}

impl Principal {
    /// A user with a session, without role and tenant.
    pub fn new(user: impl Into<String>, session: impl Into<String>) -> Self {
        Self { user: user.into(), role: None, tenant: None, session: session.into() }
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

/// The session's id is left out: logs are read by more people than may know it.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("user", &self.user)
            .field("role", &self.role)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}
