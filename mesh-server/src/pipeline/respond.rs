//! Replies: errors as JSON, CORS headers and compression.

use std::any::Any;
use std::thread;

use http::Response;
use mesh_wire::{WireError, response};

use super::context::RequestContext;
use crate::pipeline::body::Body;

/// Turns the outcome of the other stages, which may be a panic, into a reply.
pub(super) async fn reply(
    cx: &RequestContext<'_>,
    outcome: thread::Result<Result<Response<Body>, WireError>>,
) -> Response<Body> {
    let outcome = outcome.unwrap_or_else(|payload| Err(panicked(cx, &*payload)));
    let mut reply = outcome.unwrap_or_else(|error| {
        cx.shared.metrics.as_ref().inspect(|metrics| metrics.refused(&error));
        tracing::debug!(request = %cx.head.request_id, status = error.status.as_u16(), "{error}");
        response::error(&cx.head, &error).map(Body::from)
    });
    if let Some(cors) = &cx.shared.cors {
        cors.apply(cx.head.method, cx.head.headers, reply.headers_mut());
    }
    #[cfg(feature = "compression")]
    let reply = super::compress::compress(cx.head.headers, reply).await;
    reply
}

/// Logs and counts a panic.
fn panicked(cx: &RequestContext<'_>, payload: &(dyn Any + Send)) -> WireError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    tracing::error!(request = %cx.head.request_id, "panicked: {}", text.unwrap_or("no message"));
    cx.shared.metrics.as_ref().inspect(|metrics| metrics.panicked());
    WireError::internal()
}
