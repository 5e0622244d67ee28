//! The application: everything that answers requests, independent of the listener.

pub(crate) mod builder;
pub(crate) mod current;
pub(crate) mod gauges;
mod ids;
pub(crate) mod limits;
pub(crate) mod service;
pub(crate) mod shared;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use mesh_uploads::{RecoveryReport, StoreError, SweepReport};
use mesh_wire::BasePath;

use crate::observability::metrics::Metrics;
use crate::pipeline;
use crate::pipeline::body::{Body, RequestBody};
use crate::rates::client_address::ClientAddress;
use crate::uploads::recovery::{recover, sweep};
use limits::Limits;
use shared::Shared;

/// Answers requests. Made by [`App::builder`]. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct App {
    shared: Arc<Shared>,
}

impl App {
    /// Answers a request. Every failure, a panic included, becomes an error reply.
    ///
    /// The client's address is taken from the extension [`ClientAddress`], if there is one.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        let (head, body) = request.into_parts();
        let address = head.extensions.get::<ClientAddress>().copied();
        let body = RequestBody::new(body, self.shared.limits.body_timeout);
        pipeline::handle(&self.shared, head, address, body).await
    }

    /// Answers a request of a connection from this address.
    pub(crate) async fn handle_from<B>(
        self: Arc<Self>,
        address: ClientAddress,
        request: Request<B>,
    ) -> Response<Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        let (head, body) = request.into_parts();
        let body = RequestBody::new(body, self.shared.limits.body_timeout);
        pipeline::handle(&self.shared, head, Some(address), body).await
    }

    /// Refuses a request that was sent without TLS to a port that requires it.
    #[cfg(feature = "tls")]
    pub(crate) fn refuse_plain<B>(&self, request: &Request<B>) -> Response<Body> {
        pipeline::refuse_plain(&self.shared, request)
    }

    /// Returns the base path.
    pub fn base_path(&self) -> &BasePath {
        &self.shared.base
    }

    /// Ends all event streams and refuses new ones, for the shutdown of a server.
    pub fn end_streams(&self) {
        if let Some(hub) = &self.shared.hub {
            hub.close();
        }
    }

    /// Ends the open event streams. A stream that starts later sends one event and ends.
    pub(crate) fn retire_streams(&self) {
        if let Some(hub) = &self.shared.hub {
            hub.retire();
        }
    }

    /// Copies the registered queries of another application, without their plans.
    pub(crate) fn adopt_queries(&self, other: &Self) {
        if let (Some(new), Some(old)) = (&self.shared.persisted, &other.shared.persisted) {
            new.adopt(old);
        }
    }

    /// Publishes or removes stored files that a crash left unpublished. To be called when a server starts, and
    /// regularly if several servers share a store. `SPEC §9.4`
    ///
    /// # Errors
    /// Those of the store.
    pub async fn recover_uploads(&self) -> Result<RecoveryReport, StoreError> {
        match &self.shared.uploads {
            Some(uploads) => recover(&self.shared.mesh, uploads).await,
            None => Ok(RecoveryReport::default()),
        }
    }

    /// Finds stored files older than `min_age` that no record refers to, regardless of policies, and removes them if
    /// `remove` is set. Uploads may go on meanwhile. Records that are not in the schema, and keys in columns that accept
    /// no files, are not considered.
    ///
    /// # Errors
    /// Those of the store, and an error if no field of the schema accepts files.
    pub async fn sweep_uploads(&self, min_age: Duration, remove: bool) -> Result<SweepReport, StoreError> {
        match &self.shared.uploads {
            Some(uploads) => sweep(&self.shared.mesh, uploads, (min_age, remove)).await,
            None => Ok(SweepReport::default()),
        }
    }

    /// Returns what all requests share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the metrics.
    pub(crate) fn metrics(&self) -> Option<&Metrics> {
        self.shared.metrics.as_ref()
    }

    /// Returns the limits of the transport.
    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }
}
