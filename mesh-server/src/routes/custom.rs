//! What does the application answer by itself? Its own routes, beside the built-in ones, under the base path.
//!
//! They are refused, admitted, bounded and logged like all others: a handler is called with a session that
//! was checked and a body that was signed, and returns a reply or an error of the same table. `SPEC §7.4`

mod call;
mod pattern;

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use http::{Method, Response};
use mesh_plan::BoxFuture;
use mesh_wire::{AllowedMethods, ErrorKind, Route, WireError, response};

use super::{Exchange, admit};
use crate::app::Shared;
use crate::body::{Body, Incoming};
pub use call::{Call, Reply};
use pattern::Pattern;
pub use pattern::PatternError;

/// Answers a route of the application. Implemented by every function or closure of the form
/// `async fn(Call) -> Result<Reply, WireError>`.
pub trait Handler: Send + Sync + 'static {
    /// Answers a request.
    ///
    /// # Errors
    /// Whatever the client is to be told: [`WireError::validation`], [`WireError::integrity`] and so on.
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

/// The routes of the application, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes(Vec<Arc<Own>>);

/// A route of the application.
pub(crate) struct Own {
    method: Method,
    pattern: Pattern,
    handler: Arc<dyn Handler>,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.pattern)
    }
}

/// Where a request goes.
pub(crate) enum Hit<'p> {
    /// To a route of the protocol.
    BuiltIn(Route<'p>),
    /// To one of the application's, with the values of its pattern's names.
    Own(Arc<Own>, Vec<(String, String)>),
}

impl Routes {
    /// The same with one more. Of two that take the same request the first one answers.
    pub(crate) fn add(
        &mut self,
        method: Method,
        pattern: &str,
        handler: impl Handler,
    ) -> Result<(), PatternError> {
        let (pattern, handler) = (Pattern::parse(pattern)?, Arc::new(handler));
        self.0.push(Arc::new(Own { method, pattern, handler }));
        Ok(())
    }
}

/// The route of a request. The application's come first, so that it may see to a write itself; what a path
/// takes is what both take together.
pub(crate) fn find<'p>(shared: &Shared, method: &Method, path: &'p str) -> Result<Hit<'p>, WireError> {
    let Shared { base, profiles, routes, .. } = shared;
    let built_in = Route::parse(base, profiles, method, path);
    if routes.0.is_empty() {
        return built_in.map(Hit::BuiltIn);
    }
    // What cannot be taken apart is refused by the protocol's own routes.
    let Ok(segments) = base.split(path) else { return built_in.map(Hit::BuiltIn) };
    let segments: Vec<&str> = segments.iter().map(Cow::as_ref).collect();
    let mut taken = Vec::new();
    for own in &routes.0 {
        let Some(values) = own.pattern.matches(&segments) else { continue };
        if own.takes(method) {
            return Ok(Hit::Own(Arc::clone(own), values));
        }
        taken.push(own.method.clone());
        if own.method == Method::GET {
            taken.push(Method::HEAD);
        }
    }
    if taken.is_empty() {
        return built_in.map(Hit::BuiltIn);
    }
    let own = AllowedMethods::new(&taken);
    match built_in {
        Ok(Route::Options { allow }) => Ok(Hit::BuiltIn(Route::Options { allow: allow.union(own) })),
        Err(error) if error.kind == ErrorKind::NotFound && *method == Method::OPTIONS => {
            Ok(Hit::BuiltIn(Route::Options { allow: own }))
        }
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::MethodNotAllowed) => {
            let allow = error.allow.map_or(own, |allow| allow.union(own));
            Err(WireError::method_not_allowed(method, allow))
        }
        built_in => built_in.map(Hit::BuiltIn),
    }
}

impl Own {
    fn takes(&self, method: &Method) -> bool {
        self.method == *method || (self.method == Method::GET && *method == Method::HEAD)
    }

    /// Admits a request, reads its body and hands both to the handler.
    pub(crate) async fn answer(
        &self,
        cx: &Exchange<'_>,
        params: Vec<(String, String)>,
        sent: Incoming,
    ) -> Result<Response<Body>, WireError> {
        let (admitted, body) = admit::of_application(cx, sent).await?;
        let call = Call::new(cx, &admitted, params, body).await?;
        let _waiting = cx.shared.admission.acquire()?;
        let handling = tokio::time::timeout_at(cx.deadline.into(), self.handler.call(call));
        let reply = handling.await.unwrap_or_else(|_| Err(WireError::timeout()))?;
        let (status, location, body) = reply.into_parts();
        let reads = matches!(*cx.asked.method, Method::GET | Method::HEAD) && status.is_none();
        let mut response = match body {
            Some(body) if reads => response::read(&cx.asked, body),
            body => response::written(&cx.asked, location, body),
        };
        if reads && cx.shared.integrity.is_some() {
            response::set_private(&mut response);
        }
        if let Some(status) = status {
            *response.status_mut() = status;
        }
        Ok(response.map(Body::from))
    }
}
