//! The application: everything that answers requests, independent of the listener.

pub(crate) mod build_error;
pub(crate) mod builder;
pub(crate) mod caching;
pub(crate) mod current;
pub(crate) mod exports;
mod ids;
pub(crate) mod limits;
pub(crate) mod service;
pub(crate) mod shared;

use std::sync::Arc;

use http::{Request, Response};

use crate::clients::Peer;
use crate::pipeline;
use crate::pipeline::body::{Body, RequestBody};
use crate::rates::client_address::ClientAddress;
use shared::Shared;

/// An application that answers requests, built with [`App::builder`]. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct App {
    pub(crate) shared: Arc<Shared>,
}

impl App {
    /// Answers a request. Every failure, a panic included, becomes an error reply.
    ///
    /// The client's address is taken from the extension [`ClientAddress`], if there is one.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
    {
        let (head, body) = request.into_parts();
        let peer =
            head.extensions.get::<ClientAddress>().map(|address| Peer { address: *address, outbox: None });
        let body = RequestBody::new(body, self.shared.limits.body_timeout);
        pipeline::handle(&self.shared, &head, peer.as_ref(), body).await
    }

    /// Ends all event streams and refuses new ones, for the shutdown of a server.
    pub fn end_streams(&self) {
        if let Some(hub) = &self.shared.hub {
            hub.close();
        }
    }
}
