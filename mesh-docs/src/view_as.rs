//! View as: an administrator sees the schema and runs queries as a session with another role would.

use std::sync::Arc;

use http::HeaderMap;
use mesh_plan::Principal;
use mesh_plan::policy::{ClaimValue, Claims};
use mesh_schema::policy::ANY_ROLE;
use mesh_wire::WireError;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::access::ADMIN;
use crate::{Error, Visitor};

/// The header with the session that an administrator views the data as. `SPEC §13.3`
const HEADER: &str = "x-mesh-view-as";

/// The role and the other values of the session that a visitor asks to view the data as.
#[derive(Clone, Debug)]
pub struct ViewAs {
    role: String,
    principal: Principal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    role: String,
    user: Option<String>,
    tenant: Option<String>,
    #[serde(default)]
    claims: Map<String, Value>,
}

impl ViewAs {
    /// Parses the header; `None` if the request does not have it. Does not check whether the visitor may use the view.
    ///
    /// # Errors
    /// The header is repeated, or it is not a valid JSON object.
    pub fn from_headers(headers: &HeaderMap) -> Result<Option<Self>, WireError> {
        let mut values = headers.get_all(HEADER).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => return Ok(None),
            (Some(value), None) => value,
            _ => return Err(WireError::transport("X-Mesh-View-As is repeated")),
        };
        let wrong = |why: &str| {
            WireError::transport(format!(
                "X-Mesh-View-As must be a JSON object {{role, user?, tenant?, claims?}}: {why}"
            ))
        };
        let members: Members =
            serde_json::from_slice(value.as_bytes()).map_err(|error| wrong(&error.to_string()))?;
        let mut claims = Claims::new();
        for (name, value) in &members.claims {
            let value = ClaimValue::from_json(value).ok_or_else(|| {
                wrong(&format!("the claim '{name}' is neither a scalar nor a list of them"))
            })?;
            claims.insert(name.as_str(), value);
        }
        let mut principal = Principal::new(members.user.unwrap_or_default(), "");
        principal.role = Some(members.role.clone()).filter(|role| role != ANY_ROLE);
        principal.tenant = members.tenant;
        principal.claims = claims;
        Ok(Some(Self { role: members.role, principal }))
    }

    /// Returns the role as in the header: `*` is any role that the policies do not list.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// Returns the principal, which has no session.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Refuses a visitor that is not an administrator, and a role that is not one of `roles`.
    pub(crate) fn check(self, roles: &[String], visitor: &Visitor<'_>) -> Result<Arc<Principal>, Error> {
        if visitor.user.is_none() {
            Err(Error::NoSession)
        } else if may_view_as(visitor) && roles.contains(&self.role) {
            Ok(Arc::new(self.principal))
        } else {
            Err(Error::Forbidden)
        }
    }
}

/// Returns whether a visitor is an administrator, who can view the data as one of the roles of
/// [`crate::Options::view_as`].
pub(crate) fn may_view_as(visitor: &Visitor<'_>) -> bool {
    visitor.user.is_some() && visitor.role == Some(ADMIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(values: &[&str]) -> Result<Option<Principal>, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, value.parse().unwrap());
        }
        ViewAs::from_headers(&headers)
            .map(|view| view.map(|view| view.principal))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn role_user_tenant_and_claims_are_parsed() {
        assert_eq!(parse(&[]), Ok(None));
        assert_eq!(
            parse(&[r#"{"role": "*"}"#]),
            Ok(Some(Principal::new("", ""))),
            "any role that is not listed"
        );
        assert_eq!(parse(&[r#"{"role": "editor"}"#]), Ok(Some(Principal::new("", "").with_role("editor"))));
        let all = r#"{"role": "editor", "user": "7", "tenant": "t", "claims": {"teamIds": [1, 2], "city": "K\u00f6ln"}}"#;
        let expected = Principal::new("7", "").with_role("editor").with_tenant("t");
        let ids = ClaimValue::from_json(&serde_json::json!([1, 2])).unwrap();
        assert_eq!(parse(&[all]), Ok(Some(expected.with_claim("teamIds", ids).with_claim("city", "Köln"))));
    }

    #[test]
    fn invalid_headers_are_refused_with_the_reason() {
        for (values, words) in [
            (&["editor"][..], "JSON object"),
            (&["{}"], "role"),
            (&[r#"{"role": "a", "session": "b"}"#], "session"),
            (&[r#"{"role": "a", "role": "b"}"#], "duplicate"),
            (&[r#"{"role": null}"#], "role"),
            (&[r#"{"role": "a", "claims": {"x": {}}}"#], "'x'"),
            (&[r#"{"role": "a"}"#, r#"{"role": "a"}"#], "repeated"),
        ] {
            let error = parse(values).unwrap_err();
            assert!(error.contains(words), "{values:?}: {error}");
        }
    }

    #[test]
    fn only_administrators_take_on_one_of_the_listed_roles() {
        let (headers, context) = (HeaderMap::new(), mesh_plan::Context::default());
        let outcome = |role: &str, session: Option<(&str, Option<&str>)>| {
            let visitor = Visitor::new(&headers, &context);
            let visitor = session.map_or(visitor, |(user, role)| visitor.with_session(user, role));
            let view = ViewAs { role: role.to_owned(), principal: Principal::new("", "").with_role(role) };
            match view.check(&["editor".to_owned()], &visitor) {
                Ok(_) => "in",
                Err(Error::NoSession) => "login",
                Err(_) => "out",
            }
        };
        let sessions = [None, Some(("1", None)), Some(("1", Some("editor"))), Some(("1", Some("admin")))];
        assert_eq!(sessions.map(|session| outcome("editor", session)), ["login", "out", "out", "in"]);
        assert_eq!(outcome("owner", Some(("1", Some("admin")))), "out", "a role that is not listed");
        assert_eq!(outcome("admin", Some(("1", Some("admin")))), "out", "its own role is not listed either");
    }
}
