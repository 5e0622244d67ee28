//! Routes of the application, under the base path beside those of the protocol.
//!
//! Requests to them pass the same stages as all others: a handler is called with an authenticated session and a body
//! that the signature covers. `SPEC §7.4`

mod call;
pub(crate) mod pattern;
pub(crate) mod route;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response};
use mesh_wire::{WireError, base64, response};

use crate::pipeline::admission;
use crate::pipeline::authenticate::{self, Content};
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::{Caller, RequestContext};
use crate::routes::write;
pub use call::{Call, Reply};
pub use pattern::PatternError;
use route::CustomRoute;
pub use route::Handler;

/// Authenticates a request, reads its body and calls the handler.
pub(crate) async fn answer(
    cx: &RequestContext<'_>,
    route: &CustomRoute,
    params: Vec<(String, String)>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_body(cx, Content::Application, body).await?;
    let call = call(cx, &caller, params, body).await?;
    let is_safe = matches!(*cx.head.method, Method::GET | Method::HEAD);
    let handling = route.handler.call(call);
    let handled = if is_safe {
        admission::run(cx, handling).await?
    } else {
        admission::begin_write(cx)?;
        // A write of the handler that has begun before the deadline ends within this time.
        let end = cx.deadline + cx.shared.limits.request_timeout;
        tokio::time::timeout_at(end.into(), handling).await.ok()
    };
    let late = || match cx.effects {
        Some(effects) if !effects.prevent() => Err(WireError::outcome_unknown()),
        _ => Err(WireError::timeout()),
    };
    let Reply { status, location, body } = handled.unwrap_or_else(late)?;
    let reads = is_safe && status.is_none();
    let mut response = match body {
        Some(body) if reads => response::read(&cx.head, body, None),
        body => response::written(&cx.head, location, body),
    };
    if reads && cx.shared.identifies_callers() {
        response::set_private(&mut response);
    }
    if let Some(status) = status {
        *response.status_mut() = status;
    }
    Ok(response.map(Body::from))
}

async fn call(
    cx: &RequestContext<'_>,
    caller: &Caller,
    params: Vec<(String, String)>,
    body: Bytes,
) -> Result<Call, WireError> {
    // The query header may hold the signed body instead of a query that shapes the reply.
    let signed = cx.mesh_headers.query.and_then(|value| base64::decode(value.as_bytes()).ok());
    let is_body = signed.is_some_and(|text| text.as_bytes() == body || text == "{}");
    Ok(Call {
        shape: if is_body { None } else { write::shape(cx, caller).await? },
        mesh: Arc::clone(&cx.shared.mesh),
        changes: cx.shared.changes.clone(),
        base: cx.shared.base.clone(),
        context: cx.resolver_context(caller),
        effects: cx.effects.cloned(),
        session: caller.session().cloned(),
        params,
        headers: cx.head.headers.clone(),
        body,
    })
}
