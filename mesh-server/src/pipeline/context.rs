//! The context of a request, which every stage and every route handler is given.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use http::{HeaderMap, Uri};
use mesh_plan::Context;
use mesh_wire::headers::MeshHeaders;
use mesh_wire::{RequestHead, RequestId};
use tracing::Span;

use super::caller::Caller;
use crate::app::shared::Shared;
use crate::observability::record::RequestRecord;
use crate::observability::trace_context::TraceContext;
use crate::rates::client_address::ClientAddress;

/// The owned parts of a request, without its body.
pub(crate) struct Received {
    head: Parts,
    request_id: RequestId,
    address: Option<IpAddr>,
    record: RequestRecord,
}

impl Received {
    /// Starts the record of a request and chooses its id.
    pub(crate) fn new(shared: &Shared, head: Parts, address: Option<ClientAddress>) -> Self {
        let address = address.map(|address| shared.proxies.client(address.0, &head.headers));
        let request_id = RequestId::from_headers(&head.headers, shared.ids.request_id());
        let record = RequestRecord::new(trace_context(shared, &head.headers));
        Self { head, request_id, address, record }
    }

    /// Returns the context that stages borrow.
    pub(crate) fn context<'r>(&'r self, shared: &'r Arc<Shared>) -> RequestContext<'r> {
        let Self { head, request_id, address, record } = self;
        RequestContext {
            shared,
            head: RequestHead { method: &head.method, headers: &head.headers, request_id },
            mesh_headers: MeshHeaders::scan(&head.headers),
            uri: &head.uri,
            address: *address,
            record,
            deadline: record.start + shared.limits.request_timeout,
        }
    }
}

/// The trace that a request belongs to. If spans are collected, a request without one starts a trace.
fn trace_context(shared: &Shared, headers: &HeaderMap) -> Option<TraceContext> {
    let context = TraceContext::from_headers(headers, || shared.ids.span_id());
    #[cfg(feature = "otlp")]
    if context.is_none() && shared.spans.is_some() {
        return Some(TraceContext::new_trace(shared.ids.trace_id(), shared.ids.span_id()));
    }
    context
}

/// A request on its way to its reply.
pub(crate) struct RequestContext<'r> {
    pub(crate) shared: &'r Arc<Shared>,
    /// Method, headers and id.
    pub(crate) head: RequestHead<'r>,
    /// The headers of the protocol. Authentication refuses those that are repeated.
    pub(crate) mesh_headers: MeshHeaders<'r>,
    /// Path and URL query.
    pub(crate) uri: &'r Uri,
    /// The client's address if it is known: the peer of the connection, or what a trusted proxy reports.
    pub(crate) address: Option<IpAddr>,
    /// What is reported about the request at its end.
    pub(crate) record: &'r RequestRecord,
    /// When the request times out.
    pub(crate) deadline: Instant,
}

impl RequestContext<'_> {
    /// Returns the context that resolvers and mutators are given.
    pub(crate) fn resolver_context(&self, caller: &Caller) -> Context {
        Context::new(self.request_id())
            .with_deadline(self.deadline)
            .with_trace_parent(self.record.trace.map(|trace| trace.to_string().into()))
            .with_principal(caller.principal())
    }

    /// Returns the request's id.
    pub(crate) fn request_id(&self) -> &str {
        self.head.request_id.as_str()
    }

    /// Returns the span of all that is logged for the request; none if it belongs to no trace.
    pub(crate) fn span(&self) -> Span {
        let trace = self.record.trace;
        trace.map_or_else(Span::none, |trace| tracing::info_span!("request", trace = trace.trace_id()))
    }

    /// Awaits `work` until the request's deadline. Returns `None` if the deadline passes first.
    pub(crate) async fn before_deadline<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.deadline.into(), work).await.ok()
    }
}
