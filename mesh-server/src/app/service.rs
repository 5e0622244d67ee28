//! An [`App`] as a service of hyper and of tower.

use std::convert::Infallible;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use mesh_wire::{BasePath, WireError};

use super::reply_future::ReplyFuture;
use crate::clients::Peer;
use crate::pipeline;
use crate::pipeline::body::RequestBody;
use crate::rates::client_address::ClientAddress;
use crate::routes::custom::{Call, Handler, Reply};
use crate::{App, Body};

/// An [`App`] as a service of hyper and of tower, for example for a router of axum. It never
/// fails and is always ready. Cheap to clone; clones share everything. The call of a request without a body begins it, before
/// its future is polled.
///
/// For rate limits per address, the server inserts a [`crate::ClientAddress`] into the request's extensions. When it
/// stops, it calls [`App::end_streams`] to end the event streams.
///
/// ```
/// # fn routes(app: mesh_server::App) -> axum::Router {
/// // Paths contain the base path: `/mesh/post/1`.
/// axum::Router::new().fallback_service(app.into_service())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MeshService {
    app: App,
    stripped_prefix: BasePath,
}

impl App {
    /// Answers a request. Every failure, a panic included, becomes an error reply. If the future is dropped after a write has
    /// begun, the write is completed and recorded nevertheless.
    ///
    /// The client's address is taken from the extension [`ClientAddress`], if there is one.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
    {
        let (head, peer, body) = self.split(request);
        pipeline::handle(self.clone(), head, peer, body, None).await
    }

    /// Answers a request to a route that the application defines in a router of its own. The request passes the same stages as
    /// [`App::handle`]; after authentication and with its whole body, it is passed to the handler in place of a route of Mesh.
    /// A handler of a request that may write runs to its end even if its client leaves.
    ///
    /// ```
    /// use axum::extract::{Request, State};
    /// use axum::{Router, routing::post};
    /// use mesh_server::mesh_plan::{WriteRequest, WriteTarget};
    /// use mesh_server::{App, Body};
    ///
    /// async fn plant(State(app): State<App>, request: Request) -> http::Response<Body> {
    ///     let handler = async |call: mesh_server::Call| {
    ///         let fields = call.fields()?;
    ///         let request = WriteRequest::new(WriteTarget::Create { entity: "plant" }).with_fields(&fields);
    ///         Ok(call.created(call.write(request).await?))
    ///     };
    ///     app.answer(request, handler).await
    /// }
    ///
    /// fn router(app: App) -> Router {
    ///     let mesh = app.clone().into_service();
    ///     Router::new()
    ///         .route("/mesh/plant", post(plant).fallback_service(mesh.clone()))
    ///         .fallback_service(mesh)
    ///         .with_state(app)
    /// }
    /// ```
    pub async fn answer<B, F, R>(&self, request: Request<B>, handler: F) -> Response<Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
        F: FnOnce(Call) -> R + Send + 'static,
        R: Future<Output = Result<Reply, WireError>> + Send + 'static,
    {
        let (head, peer, body) = self.split(request);
        let handler: Handler = Box::new(|call| handler(call).boxed());
        pipeline::handle(self.clone(), head, peer, body, Some(handler)).await
    }

    fn split<B>(&self, request: Request<B>) -> (Parts, Option<Peer>, RequestBody)
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
    {
        let (head, body) = request.into_parts();
        let address = head.extensions.get::<ClientAddress>();
        let peer = address.map(|address| Peer { address: *address, is_connected: false });
        (head, peer, RequestBody::new(body, self.shared.options.limits.body_timeout))
    }

    /// Converts the application into a service.
    pub fn into_service(self) -> MeshService {
        MeshService { app: self, stripped_prefix: BasePath::root() }
    }
}

impl MeshService {
    /// Sets the prefix that a router removes from paths before it calls the service, as axum's `nest_service` does. The
    /// service restores it, because signatures cover the whole path and replies contain links.
    ///
    /// ```
    /// # fn routes(mut app: mesh_server::AppBuilder) -> Result<axum::Router, Box<dyn std::error::Error>> {
    /// use mesh_server::mesh_wire::BasePath;
    ///
    /// let base = BasePath::parse("/api/mesh")?;
    /// app.options.base_path = base.clone();
    /// let mesh = app.build()?.into_service().with_stripped_prefix(base);
    /// # Ok(
    /// axum::Router::new().nest_service("/api/mesh", mesh)
    /// # )
    /// # }
    /// ```
    #[must_use]
    pub fn with_stripped_prefix(self, prefix: BasePath) -> Self {
        Self { stripped_prefix: prefix, ..self }
    }

    fn answer<B>(&self, mut request: Request<B>) -> ReplyFuture
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
    {
        if let Some(whole) = with_prefix(&self.stripped_prefix, request.uri()) {
            *request.uri_mut() = whole;
        }
        let (head, peer, body) = self.app.split(request);
        ReplyFuture::new(self.app.clone(), head, peer, body)
    }
}

/// Returns the URI with a prefix before its path; `None` if the prefix is empty or the URI would be too long.
fn with_prefix(prefix: &BasePath, uri: &Uri) -> Option<Uri> {
    if prefix.as_str().is_empty() {
        return None;
    }
    // For a request to the prefix itself, a router leaves `/`, since a path cannot be empty.
    let path = if uri.path() == "/" { "" } else { uri.path() };
    let mut text = format!("{prefix}{path}");
    if let Some(query) = uri.query() {
        text.push('?');
        text.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text).ok()?);
    Uri::from_parts(parts).ok()
}

impl<B> hyper::service::Service<Request<B>> for MeshService
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ReplyFuture;

    fn call(&self, request: Request<B>) -> Self::Future {
        self.answer(request)
    }
}

impl<B> tower_service::Service<Request<B>> for MeshService
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ReplyFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.answer(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_prefix_is_restored() {
        let whole = |prefix: &str, uri: &str| {
            with_prefix(&BasePath::parse(prefix).unwrap(), &uri.parse().unwrap()).map(|uri| uri.to_string())
        };
        assert_eq!(whole("/api/mesh", "/post/1?x=%20"), Some("/api/mesh/post/1?x=%20".to_owned()));
        assert_eq!(whole("/api/mesh", "/"), Some("/api/mesh".to_owned()));
        assert_eq!(whole("/api", "http://host/mesh/post"), Some("http://host/api/mesh/post".to_owned()));
        assert_eq!(whole("/", "/post/1"), None);
        assert_eq!(whole("/api", &format!("/{}", "x".repeat(65_530))), None);
    }
}
