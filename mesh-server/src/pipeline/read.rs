//! The stages of a read after its query is decoded.

use http::{Method, Response};
use mesh_plan::backend::Either;
use mesh_plan::{Context, JsonBody, Plan, ResolveError};
use mesh_wire::{WireError, response};

use super::admission;
use super::body::Body;
use super::context::RequestContext;
use super::query::{RequestQuery, Target};
use crate::identity::caller::Caller;
use crate::observability::error_log;
use crate::observability::record::ReadRecord;

/// Finds the query of the headers.
pub(crate) async fn query<'r>(cx: &RequestContext<'r>) -> Result<RequestQuery<'r>, WireError> {
    let headers = &cx.mesh_headers;
    let is_write = *cx.head.method == Method::PUT && headers.query.is_none() && headers.query_id.is_none();
    if is_write && !cx.shared.profiles.mutations {
        let message = "Writes are off on this server, so PUT is treated as a read, which requires a query; \
                       turn writes on in the server's settings, or send a query in X-Mesh-Query";
        return Err(WireError::transport(message));
    }
    cx.shared.queries.in_headers(&cx.parts()).await
}

/// Plans a query, runs the plan and returns the reply.
pub(crate) async fn answer(
    cx: &RequestContext<'_>,
    caller: &Caller,
    query: RequestQuery<'_>,
    target: Target<'_>,
) -> Result<Response<Body>, WireError> {
    let plan = cx.shared.queries.plan(&cx.parts(), caller, query, target)?;
    let body = execute(cx, &cx.resolver_context(caller), &plan).await?;
    Ok(reply(cx, &plan, body))
}

/// Runs a plan.
pub(crate) async fn execute(
    cx: &RequestContext<'_>,
    context: &Context,
    plan: &Plan,
) -> Result<JsonBody, WireError> {
    let until_start = cx.record.start.elapsed();
    let read = match cx.shared.mesh.read(plan, context) {
        Either::Left(read) => read.await,
        Either::Right(reading) => admission::run(cx, reading).await?.unwrap_or(Err(ResolveError::TimedOut)),
    };
    let duration = cx.record.start.elapsed().saturating_sub(until_start);
    let rows = read.as_ref().map_or(0, |body| body.rows as u64);
    cx.record.facts().read = Some(ReadRecord { rows, until_start, duration });
    let body = read.map_err(|error| error_log::logged(cx.request_id(), error))?;
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
        _ => (&caching.other, None),
    };
    let mut reply = response::read_with(&cx.head, body.bytes, body.digest, control.clone());
    reply.headers_mut().extend(tags);
    reply.map(Body::from)
}
