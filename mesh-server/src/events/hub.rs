//! The event streams of one application.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mesh_plan::{Changes, Mesh, Plan, Principal};
use mesh_wire::{RequestId, WireError};
use tokio::sync::watch;

use super::registry::Registry;
use super::sessions::{SessionCheck, Sessions};
use super::settings::Events;
use super::shared_reading::{Reader, SharedReading, SubscriptionKey};
use super::subscription::Subscription;

/// The client of an event stream.
#[derive(Clone, Default)]
pub(crate) struct Subscriber {
    pub(crate) principal: Option<Arc<Principal>>,
    /// Reports whether the principal's session is still valid.
    pub(crate) session_check: Option<SessionCheck>,
}

/// Creates event streams and ends them. Clones share the same streams.
#[derive(Clone)]
pub(crate) struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    reader: Arc<Reader>,
    registry: Arc<Registry>,
    sessions: Arc<Sessions>,
    heartbeat: Duration,
    /// Becomes `true` when the streams end.
    ended: watch::Sender<bool>,
    is_closed: AtomicBool,
}

impl Hub {
    pub(crate) fn new(mesh: Arc<Mesh>, changes: Changes, events: Events) -> Self {
        let shared = Shared {
            reader: Arc::new(Reader::new(mesh, events.read_timeout)),
            registry: Arc::new(Registry::new(changes)),
            sessions: Arc::new(Sessions::new()),
            heartbeat: events.heartbeat,
            ended: watch::Sender::new(false),
            is_closed: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Creates a subscription and waits for its first result.
    ///
    /// # Errors
    /// The record cannot be read before the deadline, or the hub is closed.
    pub(crate) async fn subscribe(
        &self,
        plan: Plan,
        subscriber: Subscriber,
        request_id: &RequestId,
        deadline: Instant,
    ) -> Result<Subscription, WireError> {
        let shared = &self.shared;
        if shared.is_closed.load(Ordering::SeqCst) {
            return Err(WireError::unavailable(1));
        }
        // Results are shared between principals unless they can depend on the principal.
        let principal = subscriber.principal.clone().filter(|_| shared.reader.mesh().is_personal(&plan));
        let key = SubscriptionKey { plan: plan.digest(), principal };
        let membership = shared
            .registry
            .join(key.clone(), || SharedReading::new(Arc::clone(&shared.reader), key, plan, request_id));
        let latest = membership.reading().subscribe(deadline).await?;
        let session = subscriber.principal.zip(subscriber.session_check);
        let session = session.map(|(principal, check)| shared.sessions.monitor(&principal.session, check));
        let ended = shared.ended.subscribe();
        Ok(Subscription::new(membership, latest, session, ended, shared.heartbeat, request_id.clone()))
    }

    /// Ends all streams and refuses new ones.
    pub(crate) fn close(&self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        self.shared.ended.send_replace(true);
    }

    /// Ends all streams. Streams that start later end after their first event.
    pub(crate) fn retire(&self) {
        self.shared.ended.send_replace(true);
    }

    /// Returns the number of open streams and of the readings that they share.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.shared.registry.counts()
    }

    #[cfg(test)]
    pub(super) fn mesh(&self) -> &Arc<Mesh> {
        self.shared.reader.mesh()
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (streams, readings) = self.counts();
        f.debug_struct("Hub").field("streams", &streams).field("readings", &readings).finish_non_exhaustive()
    }
}
