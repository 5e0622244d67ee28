//! How does an [`App`] live in a server that is there already? As a service, of hyper and of tower.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use mesh_wire::BasePath;

use crate::{App, Body};

/// An [`App`] as a service: of hyper, and with the feature `tower` of tower, so that it can be handed to the
/// router of axum. It never fails and is always ready. Cheap to clone; all clones are one.
///
/// Clients are told apart by a [`crate::ClientAddress`] in the request's extensions, where the server in front adds one.
/// When that server is about to stop, [`App::end_streams`] ends the streams of changes.
///
/// ```
/// # #[cfg(feature = "tower")]
/// # fn routes(app: mesh_server::App) -> axum::Router {
/// // Paths come whole: `/mesh/post/1`.
/// axum::Router::new().fallback_service(app.into_service())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MeshService {
    app: App,
    taken_off: BasePath,
}

impl App {
    /// This application as a service for a server of one's own.
    pub fn into_service(self) -> MeshService {
        MeshService::from(self)
    }
}

impl From<App> for MeshService {
    fn from(app: App) -> Self {
        Self { app, taken_off: BasePath::root() }
    }
}

impl MeshService {
    /// The same behind a router that takes this prefix off a path before it hands it on, as `nest_service` of
    /// axum does. It is put back, so that [`App::at`] is what clients see: signatures cover the path as it was
    /// sent, and links in replies lead where they should.
    ///
    /// ```
    /// # #[cfg(feature = "tower")]
    /// # fn routes(app: mesh_server::App) -> Result<axum::Router, Box<dyn std::error::Error>> {
    /// use mesh_server::mesh_wire::BasePath;
    ///
    /// let base = BasePath::parse("/api/mesh")?;
    /// let mesh = app.at(base.clone()).into_service().nested_at(base);
    /// # Ok(
    /// axum::Router::new().nest_service("/api/mesh", mesh)
    /// # )
    /// # }
    /// ```
    #[must_use]
    pub fn nested_at(self, prefix: BasePath) -> Self {
        Self { taken_off: prefix, ..self }
    }

    /// Answers a request, whatever it is and whatever happens.
    fn answer<B>(&self, mut request: Request<B>) -> Answering
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        if let Some(whole) = under(&self.taken_off, request.uri()) {
            *request.uri_mut() = whole;
        }
        let app = self.app.clone();
        Answering(Box::pin(async move { app.handle(request).await }))
    }
}

/// The URI with a prefix before its path; `None` where there is nothing to put there, or no URI is that long.
fn under(prefix: &BasePath, uri: &Uri) -> Option<Uri> {
    if prefix.as_str().is_empty() {
        return None;
    }
    // Of the prefix itself a router leaves a slash, since no path is empty.
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

/// A reply on its way.
#[must_use = "nothing happens until it is awaited"]
pub struct Answering(BoxFuture<'static, Response<Body>>);

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

impl fmt::Debug for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answering")
    }
}

impl<B> hyper::service::Service<Request<B>> for MeshService
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<B>) -> Answering {
        self.answer(request)
    }
}

#[cfg(feature = "tower")]
impl<B> tower_service::Service<Request<B>> for MeshService
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answering {
        self.answer(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_router_took_off_is_put_back() {
        let whole = |prefix: &str, uri: &str| {
            under(&BasePath::parse(prefix).unwrap(), &uri.parse().unwrap()).map(|uri| uri.to_string())
        };
        assert_eq!(whole("/api/mesh", "/post/1?x=%20"), Some("/api/mesh/post/1?x=%20".to_owned()));
        assert_eq!(whole("/api/mesh", "/"), Some("/api/mesh".to_owned()));
        assert_eq!(whole("/api", "http://host/mesh/post"), Some("http://host/api/mesh/post".to_owned()));
        assert_eq!(whole("/", "/post/1"), None);
        assert_eq!(whole("/api", &format!("/{}", "x".repeat(65_530))), None);
    }
}
