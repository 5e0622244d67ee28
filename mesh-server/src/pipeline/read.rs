//! The stages of a read after its query is decoded.

use http::{Method, Response};
use mesh_plan::backend::Either;
use mesh_plan::{Context, Error, JsonBody, Plan, ResolveError};
use mesh_wire::{WireError, response};

use super::admission;
use super::body::Body;
use super::context::{Caller, RequestContext};
use super::query::{self, Query, Target};
use crate::observability::error_log;

/// Plans a query, runs the plan and returns the reply.
pub(crate) async fn answer(
    cx: &RequestContext<'_>,
    caller: &Caller,
    query: Query<'_>,
    target: Target<'_>,
) -> Result<Response<Body>, WireError> {
    let plan = query::plan(cx, caller, query, target)?;
    let body = execute(cx, &cx.resolver_context(caller), &plan).await?;
    Ok(reply(cx, &plan, body))
}

/// Runs a plan.
pub(crate) async fn execute(
    cx: &RequestContext<'_>,
    context: &Context,
    plan: &Plan,
) -> Result<JsonBody, WireError> {
    cx.record.read_started();
    let read = match cx.shared.mesh.read(plan, context) {
        Either::Left(read) => read.await,
        Either::Right(reading) => admission::run(cx, reading).await?.unwrap_or(Err(ResolveError::TimedOut)),
    };
    cx.record.read_finished(read.as_ref().map_or(0, |body| body.rows));
    let body = read.map_err(|error| {
        error_log::resolve_error(cx.request_id(), &error);
        Error::Resolve(error)
    })?;
    tracing::debug!(request = %cx.head.request_id, rows = body.rows, bytes = body.bytes.len(), "read");
    Ok(body)
}

/// Returns the reply. If it depends on the caller it is private, so that shared caches do not keep it.
fn reply(cx: &RequestContext<'_>, plan: &Plan, body: JsonBody) -> Response<Body> {
    let caching = &cx.shared.caching;
    let (control, tags) = match *cx.head.method {
        Method::GET | Method::HEAD => {
            (caching.get(&plan.node().entity), caching.tags(plan, cx.shared.mesh.schema()))
        }
        _ => (caching.other(), None),
    };
    let mut reply = response::read_with(&cx.head, body.bytes, body.digest, control.clone());
    reply.headers_mut().extend(tags);
    reply.map(Body::from)
}
