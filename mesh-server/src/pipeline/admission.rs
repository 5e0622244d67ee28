//! Admission of work that has to wait: it takes a permit of the admission limit. Reads end at the deadline of their request;
//! what has effects ends by itself.

use std::future::Future;
use std::thread;

use http::Response;
use mesh_wire::WireError;

use super::body::Body;
use super::context::RequestContext;
use super::effects::Effects;
use crate::clients::CountGuard;

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

/// Admits a request that has to wait. It counts against the limit until the guard is dropped.
///
/// # Errors
/// Those of [`crate::ClientLimits::begin_wait`].
pub(crate) fn admit(cx: &RequestContext<'_>) -> Result<CountGuard<()>, WireError> {
    cx.shared.options.client_limits.begin_wait()
}

/// Begins the effects of a request that no limit refuses, such as a login.
///
/// # Errors
/// 503 if the server stops.
pub(crate) fn begin(cx: &RequestContext<'_>) -> Result<(), WireError> {
    cx.effects.map_or(Ok(()), |effects| begin_with(cx, effects, None))
}

/// Begins effects as [`begin`] does, which a shutdown awaits to their end. They have no transaction that could be undone.
///
/// # Errors
/// Those of [`begin`].
pub(crate) fn begin_unstoppable(cx: &RequestContext<'_>) -> Result<(), WireError> {
    begin(cx)?;
    // Always true for a new gate.
    let _ = cx.effects.is_some_and(|effects| effects.new_gate().begin());
    Ok(())
}

/// Begins a write. Every limit that could refuse its answer is checked here, before anything is written.
///
/// # Errors
/// 503 if too many requests wait or the server stops.
pub(crate) fn begin_write(cx: &RequestContext<'_>) -> Result<(), WireError> {
    // A request with a safe method does not write.
    let effects = cx.effects.ok_or_else(WireError::internal)?;
    if effects.have_begun() {
        return Ok(());
    }
    begin_with(cx, effects, Some(admit(cx)?))
}

fn begin_with(
    cx: &RequestContext<'_>,
    effects: &Effects,
    admitted: Option<CountGuard<()>>,
) -> Result<(), WireError> {
    let guard = cx.shared.options.client_limits.effects.begin();
    effects.begin(guard.ok_or_else(WireError::unavailable)?, admitted);
    Ok(())
}

/// Awaits an answer, unless the server stops before its effects begin to commit.
pub(super) async fn unless_stopped(
    cx: &RequestContext<'_>,
    effects: &Effects,
    answering: impl Future<Output = thread::Result<Result<Response<Body>, WireError>>>,
) -> thread::Result<Result<Response<Body>, WireError>> {
    let stopped = async {
        cx.shared.options.client_limits.effects.stopped().await;
        if !effects.prevent() {
            std::future::pending().await
        }
    };
    tokio::select! {
        biased;
        outcome = answering => outcome,
        () = stopped => Ok(Err(WireError::unavailable())),
    }
}
