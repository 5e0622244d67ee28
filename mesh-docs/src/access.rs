//! Who may see the schema and run queries?

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderMap;
use mesh_plan::Context;

use crate::Error;

/// The role that [`Access::Admin`] wants.
const ADMIN: &str = "admin";

/// Who may see the schema and run queries. The page itself is nobody's secret: it holds no data. `SPEC §13.3`
#[derive(Clone, Default)]
pub enum Access {
    /// Everybody.
    #[default]
    Open,
    /// Sessions with the role `admin`. The server checks the token; headers and bodies claim nothing.
    Admin,
    /// Whoever the application lets in.
    Predicate(Arc<Predicate>),
}

/// Decides over the context of a request.
pub type Predicate = dyn Fn(&Visitor<'_>) -> bool + Send + Sync;

/// What is known of a request before it is let in.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Visitor<'r> {
    /// The request's headers.
    pub headers: &'r HeaderMap,
    /// Who sent it, where the server knows.
    pub peer: Option<IpAddr>,
    /// The role of the session whose token was checked; `None` without a session.
    pub role: Option<&'r str>,
    /// The user of that session.
    pub user: Option<&'r str>,
    /// What a read of this request is run with.
    pub context: &'r Context,
}

impl<'r> Visitor<'r> {
    /// A request without a session.
    pub fn new(headers: &'r HeaderMap, context: &'r Context) -> Self {
        Self { headers, peer: None, role: None, user: None, context }
    }

    /// The same from that address.
    #[must_use]
    pub fn from_peer(mut self, peer: Option<IpAddr>) -> Self {
        self.peer = peer;
        self
    }

    /// The same in a session whose token was checked.
    #[must_use]
    pub fn in_session(mut self, user: &'r str, role: Option<&'r str>) -> Self {
        (self.user, self.role) = (Some(user), role);
        self
    }
}

impl Access {
    /// Lets in whoever `decide` says.
    pub fn predicate(decide: impl Fn(&Visitor<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self::Predicate(Arc::new(decide))
    }

    /// Whether everybody is let in.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Refuses whoever is not let in: without a session a login may help, if there are sessions; with one it
    /// does not.
    pub(crate) fn check(&self, visitor: &Visitor<'_>, has_sessions: bool) -> Result<(), Error> {
        let admitted = match self {
            Self::Open => true,
            Self::Admin => visitor.role == Some(ADMIN),
            Self::Predicate(decide) => decide(visitor),
        };
        let login_helps = visitor.user.is_none() && (has_sessions || matches!(self, Self::Admin));
        match (admitted, login_helps) {
            (true, _) => Ok(()),
            (false, true) => Err(Error::NoSession),
            (false, false) => Err(Error::Forbidden),
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "Open",
            Self::Admin => "Admin",
            Self::Predicate(_) => "Predicate",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(access: &Access, session: Option<(&str, Option<&str>)>) -> &'static str {
        let (mut headers, context) = (HeaderMap::new(), Context::default());
        // What a request says of itself must not count.
        headers.insert("x-mesh-role", http::HeaderValue::from_static("admin"));
        let visitor = Visitor::new(&headers, &context);
        let visitor = session.map_or(visitor, |(user, role)| visitor.in_session(user, role));
        match access.check(&visitor, true) {
            Ok(()) => "in",
            Err(Error::NoSession) => "login",
            Err(Error::Forbidden) => "out",
            Err(_) => "?",
        }
    }

    #[test]
    fn only_a_checked_role_opens_the_door() {
        let sessions = [None, Some(("1", None)), Some(("1", Some("editor"))), Some(("1", Some("admin")))];
        assert_eq!(sessions.map(|session| outcome(&Access::Open, session)), ["in"; 4]);
        assert_eq!(sessions.map(|session| outcome(&Access::Admin, session)), ["login", "out", "out", "in"]);
    }

    #[test]
    fn a_predicate_sees_the_request() {
        let access = Access::predicate(|visitor| visitor.user == Some("7") || visitor.headers.is_empty());
        assert_eq!(outcome(&access, None), "login");
        assert_eq!(outcome(&access, Some(("7", None))), "in");
        assert_eq!(outcome(&access, Some(("8", Some("admin")))), "out");
        let (headers, context) = (
            HeaderMap::from_iter([(http::header::HOST, http::HeaderValue::from_static("x"))]),
            Context::default(),
        );
        // Where nobody can log in, nobody is told to.
        assert!(matches!(access.check(&Visitor::new(&headers, &context), false), Err(Error::Forbidden)));
    }
}
