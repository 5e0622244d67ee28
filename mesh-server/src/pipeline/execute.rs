//! Execution: work that has to wait takes a permit of the admission limit and ends at the request's deadline.

use std::future::Future;

use mesh_plan::{Either, Error, JsonBody, Plan, ResolveError};
use mesh_wire::WireError;

use super::caller::Caller;
use super::context::RequestContext;
use crate::observability::error_log;

/// Runs a plan.
pub(crate) async fn read(
    cx: &RequestContext<'_>,
    caller: &Caller,
    plan: &Plan,
) -> Result<JsonBody, WireError> {
    cx.record.read_started();
    let context = cx.resolver_context(caller);
    let read = match cx.shared.mesh.read(plan, &context) {
        Either::Left(read) => read.await,
        Either::Right(reading) => run(cx, reading).await?.unwrap_or(Err(ResolveError::TimedOut)),
    };
    cx.record.read_finished(read.as_ref().map_or(0, |body| body.rows));
    let body = read.map_err(|error| {
        error_log::resolve_error(cx.request_id(), &error);
        Error::Resolve(error)
    })?;
    tracing::debug!(request = %cx.head.request_id, rows = body.rows, bytes = body.bytes.len(), "read");
    Ok(body)
}

/// Awaits `work` under the admission limit. Returns `None` if the deadline passes first.
///
/// # Errors
/// 503 if as many requests as may wait are waiting.
pub(crate) async fn run<T>(
    cx: &RequestContext<'_>,
    work: impl Future<Output = T>,
) -> Result<Option<T>, WireError> {
    let _permit = cx.shared.admission.acquire()?;
    Ok(cx.before_deadline(work).await)
}
