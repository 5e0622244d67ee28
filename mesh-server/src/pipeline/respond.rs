//! Replies: errors as JSON, CORS headers and compression.

use std::any::Any;
use std::thread;

use http::Response;
use mesh_wire::{WireError, response};

use super::context::RequestContext;
use super::route;
use crate::pipeline::body::Body;

/// Turns the outcome of the other stages, which may be a panic, into a reply.
pub(super) async fn reply(
    cx: &RequestContext<'_>,
    outcome: thread::Result<Result<Response<Body>, WireError>>,
) -> Response<Body> {
    let outcome = outcome.unwrap_or_else(|payload| Err(panicked(cx, &*payload)));
    let mut reply = outcome.unwrap_or_else(|error| refusal(cx, &error));
    if let Some(cors) = &cx.shared.options.cors {
        cors.apply(cx.head.method, cx.head.headers, reply.headers_mut());
    }
    #[cfg(feature = "compression")]
    let reply = super::compress::compress(
        &cx.shared.options.client_limits.compressions,
        cx.head.headers,
        cx.deadline,
        reply,
    )
    .await;
    reply
}

/// Returns the reply for an error. Where nothing else is stated, a write that fails has written nothing. `SPEC §23.1`
pub(crate) fn refusal(cx: &RequestContext<'_>, error: &WireError) -> Response<Body> {
    report(cx, error);
    if error.effect.is_none() && route::is_write(cx) {
        return response::error(&cx.head, &error.clone().of_write()).map(Body::from);
    }
    response::error(&cx.head, error).map(Body::from)
}

/// Counts and logs the error of a request, even if its reply has another status.
pub(crate) fn report(cx: &RequestContext<'_>, error: &WireError) {
    cx.shared.metrics.as_ref().inspect(|metrics| metrics.refused(error));
    cx.record.facts().error.get_or_insert_with(|| Box::new(error.clone()));
    tracing::debug!(request = %cx.head.request_id, status = error.status.as_u16(), "{error}");
}

/// Logs and counts a panic.
fn panicked(cx: &RequestContext<'_>, payload: &(dyn Any + Send)) -> WireError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    tracing::error!(request = %cx.head.request_id, "panicked: {}", text.unwrap_or("no message"));
    cx.shared.metrics.as_ref().inspect(|metrics| metrics.panicked());
    // The panic may have followed the commit.
    if cx.effects.is_some_and(|effects| !effects.prevent()) {
        WireError::outcome_unknown()
    } else {
        WireError::internal()
    }
}
