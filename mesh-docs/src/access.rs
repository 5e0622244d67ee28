//! Access control of the docs surface.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderMap;
use mesh_plan::Context;
use mesh_plan::persisted::Persisted;

use crate::Error;

/// The role of administrators, which [`Access::Admin`] requires.
pub(crate) const ADMIN: &str = "admin";

/// The visitors that may see the schema and run queries. The page itself contains no data and is public. `SPEC §13.3`
#[derive(Clone, Default)]
pub enum Access {
    /// Everyone.
    #[default]
    Open,
    /// Sessions with the role `admin`. The role comes from a verified token, never from headers or bodies.
    Admin,
    /// Visitors that a predicate of the application admits.
    Predicate(Arc<Predicate>),
}

/// A predicate that decides from the context of a request.
pub type Predicate = dyn Fn(&Visitor<'_>) -> bool + Send + Sync;

/// A request before it is admitted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Visitor<'r> {
    /// The headers of the request.
    pub headers: &'r HeaderMap,
    /// The address of the client, if known.
    pub peer: Option<IpAddr>,
    /// The role of the verified session; `None` without a session.
    pub role: Option<&'r str>,
    /// The user of the verified session.
    pub user: Option<&'r str>,
    /// The context for reads of this request.
    pub context: &'r Context,
    /// The queries that execute is restricted to; `None` if it runs all queries.
    pub only: Option<&'r Persisted>,
}

impl<'r> Visitor<'r> {
    /// Creates a visitor without a session.
    pub fn new(headers: &'r HeaderMap, context: &'r Context) -> Self {
        Self { headers, peer: None, role: None, user: None, context, only: None }
    }

    /// Sets the address of the client.
    #[must_use]
    pub fn with_peer(mut self, peer: Option<IpAddr>) -> Self {
        self.peer = peer;
        self
    }

    /// Restricts execute to registered queries. `SPEC §8.5`
    #[must_use]
    pub fn restricted_to(mut self, queries: &'r Persisted) -> Self {
        self.only = Some(queries);
        self
    }

    /// Sets the user and role of a verified session.
    #[must_use]
    pub fn with_session(mut self, user: &'r str, role: Option<&'r str>) -> Self {
        (self.user, self.role) = (Some(user), role);
        self
    }
}

impl Access {
    /// Admits the visitors for which `decide` returns `true`.
    pub fn predicate(decide: impl Fn(&Visitor<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self::Predicate(Arc::new(decide))
    }

    /// Returns whether everyone is admitted.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Refuses visitors that are not admitted. The error asks for a login if that can help.
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
        // A role in a header must be ignored.
        headers.insert("x-mesh-role", http::HeaderValue::from_static("admin"));
        let visitor = Visitor::new(&headers, &context);
        let visitor = session.map_or(visitor, |(user, role)| visitor.with_session(user, role));
        match access.check(&visitor, true) {
            Ok(()) => "in",
            Err(Error::NoSession) => "login",
            Err(Error::Forbidden) => "out",
            Err(_) => "?",
        }
    }

    #[test]
    fn only_the_role_of_a_verified_session_counts() {
        let sessions = [None, Some(("1", None)), Some(("1", Some("editor"))), Some(("1", Some("admin")))];
        assert_eq!(sessions.map(|session| outcome(&Access::Open, session)), ["in"; 4]);
        assert_eq!(sessions.map(|session| outcome(&Access::Admin, session)), ["login", "out", "out", "in"]);
    }

    #[test]
    fn predicate_decides_from_the_request() {
        let access = Access::predicate(|visitor| visitor.user == Some("7") || visitor.headers.is_empty());
        assert_eq!(outcome(&access, None), "login");
        assert_eq!(outcome(&access, Some(("7", None))), "in");
        assert_eq!(outcome(&access, Some(("8", Some("admin")))), "out");
        let (headers, context) = (
            HeaderMap::from_iter([(http::header::HOST, http::HeaderValue::from_static("x"))]),
            Context::default(),
        );
        // Without sessions, the error does not suggest a login.
        assert!(matches!(access.check(&Visitor::new(&headers, &context), false), Err(Error::Forbidden)));
    }
}
