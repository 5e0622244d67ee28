//! Callers that are identified by a bearer or an API key, without a session of this deployment. `SPEC §17`

pub(crate) mod api_keys;
pub(crate) mod bearer;
#[cfg(feature = "jwks")]
pub(crate) mod jwks;
pub(crate) mod refresh;

use std::sync::Arc;

use mesh_integrity::bearer::OpenedBearer;
use mesh_integrity::{ApiKeyHash, Session};
use mesh_plan::Principal;
use mesh_plan::policy::{ClaimValue, Claims};
use mesh_wire::WireError;

use api_keys::ApiKeys;
use bearer::Bearer;

use crate::observability::record::CallerKind;

/// The credentials that identify callers, and the rights of such callers.
#[derive(Debug)]
pub(crate) struct Identities {
    pub(crate) bearer: Option<Bearer>,
    pub(crate) api_keys: Option<ApiKeys>,
    /// Whether callers may read without a signature if signatures are required.
    pub(crate) unsigned: bool,
    /// The principal of requests without credentials; `None` refuses them.
    pub(crate) anonymous: Option<Arc<Principal>>,
    /// The principal of all requests, if one client of this process sends them.
    pub(crate) local: Option<Arc<Principal>>,
}

impl Default for Identities {
    fn default() -> Self {
        Self { bearer: None, api_keys: None, unsigned: true, anonymous: None, local: None }
    }
}

impl Identities {
    /// Returns whether any credentials in `Authorization` are accepted. If not, the header is ignored.
    pub(crate) fn can_authenticate(&self) -> bool {
        self.bearer.is_some() || self.api_keys.is_some()
    }
}

/// A caller whose credential has been verified.
#[derive(Debug)]
pub(crate) struct KnownCaller {
    /// The caller in the form of a session, whose id is derived from the credential.
    pub(crate) session: Arc<Session>,
    pub(crate) principal: Arc<Principal>,
    pub(crate) credential: VerifiedCredential,
}

/// The verified credential of a caller, kept so that it can be checked again.
#[derive(Debug)]
pub(crate) enum VerifiedCredential {
    Bearer(OpenedBearer),
    ApiKey(ApiKeyHash),
}

impl KnownCaller {
    pub(crate) fn new(session: Session, credential: VerifiedCredential) -> Self {
        let principal = Arc::new(principal(&session));
        Self { session: Arc::new(session), principal, credential }
    }

    /// Returns the kind of credential that identifies the caller.
    pub(crate) fn kind(&self) -> CallerKind {
        match self.credential {
            VerifiedCredential::Bearer(_) => CallerKind::Bearer,
            VerifiedCredential::ApiKey(_) => CallerKind::ApiKey,
        }
    }
}

impl Identities {
    /// Checks that the credential of a caller is still valid: it has not expired, and its issuer has not withdrawn it.
    pub(crate) async fn recheck(&self, caller: &KnownCaller) -> Result<(), WireError> {
        match (&caller.credential, &self.bearer, &self.api_keys) {
            (VerifiedCredential::Bearer(opened), Some(bearer), _) => Ok(bearer.check(opened)?),
            (VerifiedCredential::ApiKey(hash), _, Some(keys)) => Ok(keys.recheck(*hash, caller).await?),
            _ => Ok(()),
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

/// Returns the principal of requests without credentials.
pub(crate) fn anonymous(role: impl Into<String>) -> Arc<Principal> {
    Arc::new(Principal::new("", "").with_role(role))
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
            claims: mesh_integrity::Claims::new(claims.as_object().unwrap().clone()).unwrap(),
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
