//! The event streams of one application.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mesh_plan::{Changes, Mesh, Plan, Principal};
use mesh_wire::{RequestId, WireError};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::registry::Registry;
use super::sessions::{SessionCheck, Sessions};
use super::shared_reading::{Reader, SharedReading, SubscriptionKey};
use super::subscription::Subscription;
use crate::clients::UnreadReplies;

/// The client of an event stream.
#[derive(Clone, Default)]
pub(crate) struct Subscriber {
    pub(crate) principal: Option<Arc<Principal>>,
    /// Reports whether the principal's session is still valid.
    pub(crate) session_check: Option<SessionCheck>,
}

/// Creates event streams and ends them.
pub(crate) struct Hub {
    reader: Arc<Reader>,
    registry: Arc<Registry>,
    sessions: Arc<Sessions>,
    heartbeat: Duration,
    /// Becomes `true` when the streams end.
    ended: watch::Sender<bool>,
    is_closed: AtomicBool,
}

impl Hub {
    /// Creates a hub whose streams send heartbeats, and whose readings have a time limit. `unread` counts the events that
    /// slow readers keep.
    pub(crate) fn new(
        mesh: Arc<Mesh>,
        changes: Changes,
        unread: Arc<UnreadReplies>,
        heartbeat: Duration,
        timeout: Duration,
    ) -> Self {
        Self {
            reader: Arc::new(Reader::new(mesh, unread, timeout)),
            registry: Arc::new(Registry::new(changes)),
            sessions: Arc::new(Sessions::new()),
            heartbeat,
            ended: watch::Sender::new(false),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Creates a subscription and waits for its first result.
    ///
    /// # Errors
    /// The database does not show changes of the records, the first reading fails or misses the deadline, or the
    /// hub is closed.
    pub(crate) async fn subscribe(
        &self,
        plan: Plan,
        subscriber: Subscriber,
        request_id: &RequestId,
        deadline: Instant,
    ) -> Result<Subscription, WireError> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(WireError::unavailable());
        }
        if let Some(entity) = plan.unseen_source(self.reader.mesh.schema()) {
            return Err(WireError::validation(format!(
                "Entity '{entity}' has no streams: the database does not show when its records change"
            )));
        }
        // Results are shared between principals unless they can depend on the principal.
        let principal = subscriber.principal.clone().filter(|_| self.reader.mesh.is_personal(&plan));
        let key = SubscriptionKey { plan: plan.key(), principal };
        let membership = self
            .registry
            .join(key.clone(), || SharedReading::start(Arc::clone(&self.reader), key, plan, request_id));
        let latest = membership.reading.subscribe(deadline).await?;
        let session = subscriber.principal.zip(subscriber.session_check);
        let mut heartbeat =
            tokio::time::interval_at((Instant::now() + self.heartbeat).into(), self.heartbeat);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Subscription {
            latest,
            heartbeat,
            session: session.map(|(principal, check)| self.sessions.monitor(&principal.session, check)),
            ended: self.ended.subscribe(),
            request_id: request_id.clone(),
            sent: None,
            has_failed: false,
            _membership: membership,
        })
    }

    /// Ends all streams and refuses new ones.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.ended.send_replace(true);
    }

    /// Ends all streams. Streams that start later end after their first event.
    pub(crate) fn retire(&self) {
        self.ended.send_replace(true);
    }

    /// Returns the number of open streams and of the readings that they share.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.registry.counts()
    }

    #[cfg(test)]
    pub(super) fn set_pause_factor(&mut self, factor: u32) {
        Arc::get_mut(&mut self.reader).unwrap().pause_factor = factor;
    }

    #[cfg(test)]
    pub(super) fn mesh(&self) -> &Arc<Mesh> {
        &self.reader.mesh
    }
}

opaque_debug!(Hub);
