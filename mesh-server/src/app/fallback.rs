//! The service of the application for paths that the protocol does not have.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response};
use mesh_plan::BoxFuture;
use tower_service::Service;

use crate::pipeline::body::{Body, BoxError};

/// A tower service, for example an axum `Router`, for [`AppOptions::fallback`](crate::AppOptions::fallback). Limits of Mesh for
/// all requests apply to it, authentication does not.
#[derive(Clone)]
pub struct Fallback(Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync>);

impl Fallback {
    /// Creates a fallback from a service that never fails.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send,
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Arc::new(move |request| {
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

    pub(crate) fn call(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        self.0(request)
    }
}

opaque_debug!(Fallback);
