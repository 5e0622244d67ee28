//! The service of the application for paths that the protocol does not have.

use std::convert::Infallible;
use std::fmt;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response};
use mesh_plan::BoxFuture;
use tower_service::Service;

use crate::pipeline::body::{Body, BoxError};

/// A tower service, independent of its type.
pub(crate) struct Fallback(Box<dyn Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync>);

impl Fallback {
    pub(crate) fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send,
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Box::new(move |request| {
            let mut service = service.clone();
            async move {
                // A service may be called only after it was ready.
                let Ok(()) = std::future::poll_fn(|cx| service.poll_ready(cx)).await;
                let Ok(reply) = service.call(request).await;
                reply.map(Body::stream)
            }
            .boxed()
        }))
    }

    /// Answers a request.
    pub(crate) fn call(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        self.0(request)
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fallback(..)")
    }
}
