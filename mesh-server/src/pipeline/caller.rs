//! The authenticated caller of a request.

use std::sync::Arc;

use mesh_integrity::Session;
use mesh_plan::Principal;

/// The authenticated caller of a request. Only [`super::authenticate`] creates one.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(super) session: Option<Arc<Session>>,
    pub(super) principal: Option<Arc<Principal>>,
}

/// The caller of what needs no session.
pub(crate) const PUBLIC: Caller = Caller { session: None, principal: None };

impl Caller {
    /// Returns the caller's session; `None` without integrity.
    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        self.session.as_ref()
    }

    /// Returns the session as policies and resolvers see it.
    pub(crate) fn principal(&self) -> Option<Arc<Principal>> {
        self.principal.clone()
    }
}
