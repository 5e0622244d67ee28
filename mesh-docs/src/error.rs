//! Errors of the docs surface. The server maps them to status codes.

use std::fmt;

/// The reason why a request was refused or failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The path does not exist.
    NotFound,
    /// The path does not accept the method. Contains the accepted methods.
    MethodNotAllowed(&'static str),
    /// A session is required.
    NoSession,
    /// The session is not admitted.
    Forbidden,
    /// The content type of the body is not JSON.
    NotJson,
    /// The body is invalid. Contains the reason.
    Body(String),
    /// The query is invalid, or running it failed.
    Read(mesh_plan::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("The docs surface has no such path"),
            Self::MethodNotAllowed(allow) => write!(f, "This path of the docs surface accepts only {allow}"),
            Self::NoSession => f.write_str("The docs surface requires a login"),
            Self::Forbidden => f.write_str("This session has no access to the docs surface"),
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
