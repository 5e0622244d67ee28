//! The context of a request and its caller, which is passed to stages and route handlers.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use http::request::Parts;
use http::{HeaderMap, Uri, Version};
use mesh_plan::Context;
use mesh_wire::{MeshHeaders, RequestHead, RequestId};
use tracing::Span;

use crate::app::shared::Shared;
use crate::clients::Peer;
use crate::identity::caller::Caller;
use crate::identity::request_parts::RequestParts;
use crate::observability::audit::details::AuditDetails;
use crate::observability::record::RequestRecord;
use crate::observability::trace_context::TraceContext;
use crate::pipeline::effects::Effects;
use crate::rates::client_address::ClientAddress;

/// Returns the trace that a request belongs to. If spans are collected, a request without one starts a trace.
pub(super) fn trace_context(shared: &Shared, headers: &HeaderMap) -> Option<TraceContext> {
    let context = TraceContext::from_headers(headers, || shared.ids.span_id());
    #[cfg(feature = "otlp")]
    if context.is_none() && shared.options.spans.is_some() {
        return Some(TraceContext::new_trace(shared.ids.trace_id(), shared.ids.span_id()));
    }
    context
}

/// The context of a request that is being answered.
pub(crate) struct RequestContext<'r> {
    pub(crate) shared: &'r Arc<Shared>,
    /// Method, headers and id.
    pub(crate) head: RequestHead<'r>,
    /// The headers of the protocol. Authentication refuses those that are repeated.
    pub(crate) mesh_headers: MeshHeaders<'r>,
    /// Path and URL query.
    pub(crate) uri: &'r Uri,
    /// The version of the protocol, if the request comes from a connection of this server.
    pub(crate) version: Option<Version>,
    /// The client's address if it is known: the peer of the connection, or what a trusted proxy reports.
    pub(crate) address: Option<IpAddr>,
    /// The sender: a client or a proxy.
    peer: Option<&'r Peer>,
    /// The data that is reported when the request ends.
    pub(crate) record: &'r RequestRecord,
    /// Whether the request has begun to change something; `None` if its method is safe.
    pub(crate) effects: Option<&'r Arc<Effects>>,
    /// When the request times out.
    pub(crate) deadline: Instant,
}

impl<'r> RequestContext<'r> {
    /// Returns the context of a request from a peer.
    pub(super) fn new(
        shared: &'r Arc<Shared>,
        head: &'r Parts,
        request_id: &'r RequestId,
        record: &'r RequestRecord,
        peer: Option<&'r Peer>,
        effects: Option<&'r Arc<Effects>>,
    ) -> Self {
        Self {
            shared,
            head: RequestHead { method: &head.method, headers: &head.headers, request_id },
            mesh_headers: MeshHeaders::scan(&head.headers),
            uri: &head.uri,
            version: peer.filter(|peer| peer.is_connected).map(|_| head.version),
            address: peer.map(|peer| shared.options.trusted_proxies.client(peer.address.0, &head.headers)),
            peer,
            record,
            effects,
            deadline: record.start + shared.options.limits.request_timeout,
        }
    }

    /// Returns the parts by which the caller is identified and the query is found.
    pub(crate) fn parts(&self) -> RequestParts<'r> {
        RequestParts {
            head: self.head,
            headers: self.mesh_headers,
            path: self.uri.path(),
            address: self.address,
            deadline: Some(self.deadline),
        }
    }

    /// Returns the context for resolvers and mutators.
    pub(crate) fn resolver_context(&self, caller: &Caller) -> Context {
        Context::new(self.request_id())
            .with_deadline(self.deadline)
            .with_commit_timeout(self.shared.options.limits.request_timeout)
            .with_trace_parent(self.record.trace.map(|trace| trace.to_string().into()))
            .with_principal(caller.principal())
    }

    /// Returns the context for the transaction of a write, which ends with the server unless it has begun to commit.
    pub(crate) fn write_context(&self, caller: &Caller) -> Context {
        let context = self.resolver_context(caller);
        match self.effects {
            Some(effects) => context.with_commit_gate(effects.new_gate()),
            None => context,
        }
    }

    /// Returns the address of the client for which a trusted proxy has forwarded the request.
    pub(super) fn forwarded_for(&self) -> Option<IpAddr> {
        let peer = self.peer?.address.0;
        self.address.filter(|client| {
            self.shared.options.trusted_proxies.contains(peer) && *client != peer.to_canonical()
        })
    }

    /// Returns the address of the sender, which may be a proxy.
    pub(crate) fn peer_address(&self) -> Option<ClientAddress> {
        self.peer.map(|peer| peer.address)
    }

    pub(crate) fn request_id(&self) -> &str {
        self.head.request_id.as_str()
    }

    /// Returns the span of all log lines about the request; a disabled one if the request belongs to no trace.
    pub(crate) fn span(&self) -> Span {
        let trace = self.record.trace;
        trace.map_or_else(Span::none, |trace| tracing::info_span!("request", trace = trace.trace_id()))
    }

    /// Changes the audit details of the request, if there is an audit log.
    pub(crate) fn audit(&self, change: impl FnOnce(&mut AuditDetails)) {
        if let Some(log) = &self.shared.options.audit {
            change(self.record.facts().audit.get_or_insert_with(|| Box::new(AuditDetails::new(log.values))));
        }
    }

    /// Awaits `work` until the request's deadline. Returns `None` if the deadline passes first.
    pub(crate) fn before_deadline<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Option<T>> {
        tokio::time::timeout_at(self.deadline.into(), work).map(Result::ok)
    }
}
