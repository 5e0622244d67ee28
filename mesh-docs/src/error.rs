//! Why did the docs surface refuse a request? Facts, not statuses: those are the server's.

use std::fmt;

/// Why a request got no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Nothing is at this path.
    NotFound,
    /// The path does not take the method; it takes these.
    MethodNotAllowed(&'static str),
    /// Nobody is let in without a session.
    NoSession,
    /// The session is not one that is let in.
    Forbidden,
    /// The body of an execute is not declared as JSON.
    NotJson,
    /// The body of an execute cannot be read; says why.
    Body(String),
    /// The query does not fit, or reading it failed.
    Read(mesh_plan::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("Nothing is at this path of the docs"),
            Self::MethodNotAllowed(allow) => write!(f, "This path of the docs takes {allow} only"),
            Self::NoSession => f.write_str("The docs need a login"),
            Self::Forbidden => f.write_str("This session may not use the docs"),
            Self::NotJson => f.write_str("The body must be JSON; send Content-Type: application/json"),
            Self::Body(why) => f.write_str(why),
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            _ => None,
        }
    }
}

impl From<mesh_plan::Error> for Error {
    fn from(error: mesh_plan::Error) -> Self {
        Self::Read(error)
    }
}
