//! Admission of work that has to wait. It takes a permit of the admission limit and ends at the deadline of its request.

use std::future::Future;
use std::sync::Arc;

use mesh_wire::WireError;
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};

use super::context::RequestContext;

/// Seconds until a client should repeat a request that the server cannot serve now.
pub(crate) const RETRY_AFTER: u32 = 1;

/// Awaits `work` under the admission limit. Returns `None` if the deadline passes first.
///
/// # Errors
/// Those of [`admit`].
pub(crate) async fn run<T>(
    cx: &RequestContext<'_>,
    work: impl Future<Output = T>,
) -> Result<Option<T>, WireError> {
    let _permit = admit(cx)?;
    Ok(cx.before_deadline(work).await)
}

/// Admits a request that has to wait. It counts against the limit until the permit is dropped.
///
/// # Errors
/// 503 if the maximum number of requests is already waiting. Another request would only wait behind them, and hold
/// memory until its client gives up.
pub(crate) fn admit<'r>(cx: &RequestContext<'r>) -> Result<SemaphorePermit<'r>, WireError> {
    cx.shared.clients.requests.try_acquire().map_err(|_| WireError::unavailable(RETRY_AFTER))
}

/// Admits a request as [`admit`] does, with a permit that does not borrow from it.
///
/// # Errors
/// Those of [`admit`].
pub(super) fn admit_owned(cx: &RequestContext<'_>) -> Result<OwnedSemaphorePermit, WireError> {
    let permit = Arc::clone(&cx.shared.clients.requests).try_acquire_owned();
    permit.map_err(|_| WireError::unavailable(RETRY_AFTER))
}
