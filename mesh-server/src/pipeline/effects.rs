//! The effects of requests, which do not depend on their clients.
//!
//! [`Effects::begin`] marks the point from which a request changes something. Until then limits may refuse the request, and
//! it ends when its client leaves. From then on only the change itself decides the outcome: what remains of
//! the request, with its audit entry, its metrics and its line of the access log, is completed in a task of its own if
//! the connection drops it, and no limit turns its answer into another one. A shutdown waits for it, after its timeout
//! only if it has begun to commit.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use http::Response;
use mesh_plan::BoxFuture;
use mesh_plan::backend::CommitGate;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::body::Body;
use crate::clients::{CountGuard, EffectGuard};

/// Whether a request has begun to change something.
#[derive(Default)]
pub(crate) struct Effects {
    begun: OnceLock<Begun>,
    /// The gate of the latest transaction.
    gate: Mutex<Option<Arc<CommitGate>>>,
}

/// What a request with effects holds until it has been reported.
struct Begun {
    _admitted: Option<CountGuard<()>>,
    _guard: EffectGuard,
}

impl Effects {
    /// Returns whether the request has begun to change something.
    pub(super) fn have_begun(&self) -> bool {
        self.begun.get().is_some()
    }

    /// Returns the gate of a transaction that the request begins.
    pub(crate) fn new_gate(&self) -> Arc<CommitGate> {
        let gate = Arc::default();
        *self.gate.lock() = Some(Arc::clone(&gate));
        gate
    }

    /// Prevents the latest transaction from committing. Returns `false` if it may be in effect already.
    pub(crate) fn prevent(&self) -> bool {
        self.gate.lock().as_ref().is_none_or(|gate| gate.close())
    }

    /// Records that the request begins to change something, and what it holds until it has been reported.
    pub(super) fn begin(&self, guard: EffectGuard, admitted: Option<CountGuard<()>>) {
        let _ = self.begun.set(Begun { _admitted: admitted, _guard: guard });
    }
}

/// A request that may have effects. If it is dropped after they have begun, a task of its own completes it.
pub(super) struct Completed {
    request: Option<BoxFuture<'static, Response<Body>>>,
    effects: Arc<Effects>,
}

impl Completed {
    pub(super) fn new<F>(request: impl FnOnce(Arc<Effects>) -> F) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let effects = Arc::<Effects>::default();
        Self { request: Some(Box::pin(request(Arc::clone(&effects)))), effects }
    }
}

impl Future for Completed {
    type Output = Response<Body>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(request) = &mut self.request else { return Poll::Pending };
        let reply = request.as_mut().poll(cx);
        if reply.is_ready() {
            self.request = None;
        }
        reply
    }
}

impl Drop for Completed {
    fn drop(&mut self) {
        if let Some(request) = self.request.take()
            && self.effects.have_begun()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(request);
        }
    }
}
