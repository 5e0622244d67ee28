//! Errors of the docs surface. The server maps them to status codes.

use mesh_wire::WireError;

/// The reason why a request was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is refused.
    #[error("{}", .0.message)]
    Refused(#[from] WireError),
    /// A session is required.
    #[error("The docs surface requires a login")]
    NoSession,
    /// The session is not admitted.
    #[error("This session has no access to the docs surface")]
    Forbidden,
    /// Only registered queries may run, and this is not one that the visitor can read.
    #[error("Only registered queries are allowed, and this query is not registered")]
    NotRegistered,
    /// The store of registered queries failed.
    #[error(transparent)]
    Queries(#[from] mesh_plan::persisted::QueryStoreError),
    /// The query is invalid, or running it failed.
    #[error(transparent)]
    Read(#[from] mesh_plan::Error),
}
