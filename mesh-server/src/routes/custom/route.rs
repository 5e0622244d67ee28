//! The routes of the application, and the handlers that answer them.

use std::fmt;
use std::future::Future;

use http::Method;
use mesh_plan::BoxFuture;
use mesh_wire::WireError;

use super::call::{Call, Reply};
use super::pattern::Pattern;

/// Answers a route of the application. Implemented by every function or closure of the form
/// `async fn(Call) -> Result<Reply, WireError>`.
pub trait Handler: Send + Sync + 'static {
    /// Answers a request.
    ///
    /// # Errors
    /// The error to send to the client, such as [`WireError::validation`] or [`WireError::integrity`].
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, WireError>>;
}

impl<F, Fut> Handler for F
where
    F: Fn(Call) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Reply, WireError>> + Send + 'static,
{
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, WireError>> {
        Box::pin(self(call))
    }
}

/// A route of the application. If several match a request, the one that was added first answers.
pub(crate) struct CustomRoute {
    pub(crate) method: Method,
    pub(crate) pattern: Pattern,
    pub(crate) handler: Box<dyn Handler>,
}

impl CustomRoute {
    /// Returns whether the route answers a method. GET includes HEAD.
    pub(crate) fn allows(&self, method: &Method) -> bool {
        self.method == *method || (self.method == Method::GET && *method == Method::HEAD)
    }
}

impl fmt::Debug for CustomRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.pattern)
    }
}
