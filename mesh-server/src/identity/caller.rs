//! The callers of requests.

use std::sync::Arc;

use mesh_integrity::bearer::OpenedBearer;
use mesh_integrity::{ApiKeyHash, OpenedToken, Session};
use mesh_plan::Principal;
use mesh_plan::policy::{ClaimValue, Claims};

/// The caller of a request: its session, and its principal for policies and resolvers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Caller(Option<Arc<Known>>);

#[derive(Debug)]
struct Known {
    evidence: Evidence,
    principal: Arc<Principal>,
}

/// What shows who a caller is. It is kept so that it can be checked again.
#[derive(Debug)]
pub(crate) enum Evidence {
    /// The token of a session, whose requests are signed.
    Token(OpenedToken),
    /// A JWT of another issuer. The caller has the form of a session, whose id is derived from the JWT.
    Bearer(OpenedBearer),
    /// An API key. The caller has the form of a session, whose id is derived from the key.
    ApiKey(ApiKeyHash, Arc<Session>),
    /// No credential: the caller has the role of anonymous requests.
    Anonymous,
    /// The account that runs this process.
    Local,
}

/// The name of [`Evidence::Token`] in the audit log.
pub(crate) const SESSION: &str = "session";

impl Evidence {
    /// Returns the name in the audit log.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Token(_) => SESSION,
            Self::Bearer(_) => "bearer",
            Self::ApiKey(..) => "apiKey",
            Self::Anonymous => "anonymous",
            Self::Local => "local",
        }
    }
}

impl Caller {
    /// The caller of requests that need no credential.
    pub(crate) const PUBLIC: Self = Self(None);

    /// Returns the caller with a principal.
    pub(crate) fn new(evidence: Evidence, principal: Principal) -> Self {
        Self(Some(Arc::new(Known { evidence, principal: Arc::new(principal) })))
    }

    /// Returns the caller of requests without credentials, which has a role only. `SPEC §17.6`
    pub fn anonymous(role: impl Into<String>) -> Self {
        Self::new(Evidence::Anonymous, Principal::new("", "").with_role(role))
    }

    /// Returns the session, or the one derived from a bearer or an API key; `None` without a credential.
    pub fn session(&self) -> Option<&Arc<Session>> {
        match self.evidence()? {
            Evidence::Token(opened) => Some(opened.session()),
            Evidence::Bearer(opened) => Some(opened.session()),
            Evidence::ApiKey(_, session) => Some(session),
            Evidence::Anonymous | Evidence::Local => None,
        }
    }

    /// Returns the caller as policies and resolvers see it.
    pub fn principal(&self) -> Option<Arc<Principal>> {
        self.0.as_ref().map(|known| Arc::clone(&known.principal))
    }

    /// Returns what shows who the caller is.
    pub(crate) fn evidence(&self) -> Option<&Evidence> {
        self.0.as_ref().map(|known| &known.evidence)
    }

    /// Returns the token of the session, if the caller has one.
    pub(crate) fn token(&self) -> Option<&OpenedToken> {
        match self.evidence() {
            Some(Evidence::Token(token)) => Some(token),
            _ => None,
        }
    }
}

/// Returns the principal of a session.
pub(crate) fn principal(session: &Session) -> Principal {
    let mut principal = Principal::new(session.user.clone(), session.session.to_string());
    principal.role = session.role.clone();
    principal.tenant = session.tenant.clone();
    let claims = session.claims.iter();
    principal.claims =
        claims.filter_map(|(name, value)| Some((name, ClaimValue::from_json(value)?))).collect::<Claims>();
    principal
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use mesh_integrity::SessionId;
    use mesh_ql::Literal;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_principal_of_a_session_has_its_claims() {
        let claims = json!({"teams": [1, "x", true], "seats": 2.5, "big": u64::MAX});
        let session = Session {
            user: "7".to_owned(),
            session: SessionId([1; 16]),
            role: Some("editor".to_owned()),
            tenant: Some("acme".to_owned()),
            claims: mesh_integrity::SessionClaims::new(claims.as_object().unwrap().clone()).unwrap(),
            expires_at: UNIX_EPOCH,
        };
        let teams = vec![Literal::Integer(1), Literal::Text("x".to_owned()), Literal::Boolean(true)];
        let expected = Principal::new("7", "01".repeat(16))
            .with_role("editor")
            .with_tenant("acme")
            .with_claim("teams", teams)
            .with_claim("seats", Literal::Number(2.5))
            .with_claim("big", u64::MAX.to_string().as_str());
        assert_eq!(principal(&session), expected);
    }
}
