//! The path of one request, from its head to its reply, as a list of stages in the order of `SPEC §2.1`.
//!
//! A stage that has nothing to wait for completes on its first poll, so most reads are answered without their task
//! being suspended.

pub(crate) mod admission;
pub(crate) mod authenticate;
pub(crate) mod body;
#[cfg(feature = "compression")]
pub(crate) mod compress;
pub(crate) mod context;
pub(crate) mod effects;
pub(crate) mod header_plans;
pub(crate) mod query;
pub(crate) mod read;
pub(crate) mod respond;
pub(crate) mod route;

use std::borrow::Borrow;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use http::Response;
use http::request::Parts;
#[cfg(feature = "tls")]
use mesh_wire::RequestHead;
use mesh_wire::{RequestId, WireError};
use tracing::Instrument as _;

use crate::App;
use crate::app::shared::Shared;
use crate::clients::{CountGuard, Peer};
use crate::observability::record::RequestRecord;
use crate::observability::report;
use crate::pipeline::body::{Body, RequestBody};
use crate::routes;
use crate::routes::custom::Handler;
use context::{RequestContext, trace_context};
use effects::{Completed, Effects};

/// Answers a request. Every failure, including a panic, becomes an error reply. If the future is dropped, a request whose
/// effects have begun continues in a task of its own. If `handler` is given, the request is for a route of the application.
pub(crate) async fn handle<A>(
    app: A,
    head: Parts,
    peer: Option<Peer>,
    body: RequestBody,
    handler: Option<Handler>,
) -> Response<Body>
where
    A: Borrow<App> + Send + Sync + 'static,
{
    if head.method.is_safe() {
        return answer_and_report(&app.borrow().shared, &head, peer.as_ref(), None, body, handler).await;
    }
    let request = |effects: Arc<Effects>| async move {
        answer_and_report(&app.borrow().shared, &head, peer.as_ref(), Some(&effects), body, handler).await
    };
    Completed::new(request).await
}

async fn answer_and_report(
    shared: &Arc<Shared>,
    head: &Parts,
    peer: Option<&Peer>,
    effects: Option<&Arc<Effects>>,
    body: RequestBody,
    handler: Option<Handler>,
) -> Response<Body> {
    let record = RequestRecord::new(trace_context(shared, &head.headers));
    let request_id = RequestId::from_headers(&head.headers, shared.ids.request_id());
    let cx = RequestContext::new(shared, head, &request_id, &record, peer, effects);
    let mut under_way = None;
    let outcome = {
        // The future is pinned, so that it is not moved into the adapters.
        let answering = pin!(answer(&cx, head, body, handler, &mut under_way));
        let answering = AssertUnwindSafe(answering).catch_unwind().instrument(cx.span());
        match effects {
            None => answering.await,
            Some(effects) => admission::unless_stopped(&cx, effects, answering).await,
        }
    };
    let mut reply = respond::reply(&cx, outcome).await;
    report::record(&cx, &mut reply);
    match under_way {
        Some(under_way) => reply.map(|body| body.until_sent(under_way)),
        None => reply,
    }
}

/// Runs the stages that may refuse a request. If a proxy forwarded the request, `under_way` counts it for its client.
async fn answer(
    cx: &RequestContext<'_>,
    head: &Parts,
    body: RequestBody,
    handler: Option<Handler>,
    under_way: &mut Option<CountGuard<IpAddr>>,
) -> Result<Response<Body>, WireError> {
    route::check_host(cx)?;
    if let Some(reply) = routes::admin::page(cx).await {
        return Ok(reply);
    }
    cx.shared.options.rates.check_address(cx.address)?;
    if let Some(client) = cx.forwarded_for() {
        *under_way = Some(cx.shared.options.client_limits.start_forwarded(client)?);
    }
    let route = match handler {
        Some(handler) => route::custom(cx, handler),
        None => route::find(cx)?,
    };
    route::check_head(cx, &route)?;
    routes::dispatch(cx, head, route, body).await
}

/// Refuses a request that was sent without TLS to a port that requires it.
#[cfg(feature = "tls")]
pub(crate) fn refuse_plain(shared: &Shared, head: &Parts) -> Response<Body> {
    let request_id = RequestId::from_headers(&head.headers, shared.ids.request_id());
    let head = RequestHead { method: &head.method, headers: &head.headers, request_id: &request_id };
    let error = WireError::transport("This address speaks HTTPS only: begin the URL with https://");
    mesh_wire::response::error(&head, &error).map(Body::from)
}
