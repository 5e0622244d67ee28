//! Errors of the docs surface. The server maps them to status codes.

/// The reason why a request was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path does not exist.
    #[error("The docs surface has no such path")]
    NotFound,
    /// The path does not accept the method. Contains the accepted methods.
    #[error("This path of the docs surface accepts only {0}")]
    MethodNotAllowed(&'static str),
    /// A session is required.
    #[error("The docs surface requires a login")]
    NoSession,
    /// The session is not admitted.
    #[error("This session has no access to the docs surface")]
    Forbidden,
    /// The content type of the body is not JSON.
    #[error("The body must be JSON; send Content-Type: application/json")]
    NotJson,
    /// The body is invalid. Contains the reason.
    #[error("{0}")]
    Body(String),
    /// The values of parameters are longer than the text of a query may be.
    #[error("The values in 'params' in the body have {bytes} bytes; the bound `query_bytes` is {bound}")]
    ParamsTooLong {
        /// The length of the values.
        bytes: usize,
        /// The largest length.
        bound: usize,
    },
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
