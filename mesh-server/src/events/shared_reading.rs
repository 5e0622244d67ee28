//! One reading of a record or of a page for all equal subscriptions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mesh_plan::backend::PlanKey;
use mesh_plan::{Change, Context, Mesh, Plan, Principal, ResolveError};
use mesh_wire::{RequestId, WireError, sse};
use tokio::sync::{Semaphore, watch};

use crate::clients::UnreadReplies;
use crate::observability::error_log;

/// Concurrent readings of all subscriptions; a change can affect many of them, and requests have priority.
const MAX_READINGS: usize = 8;
/// The shortest pause after a reading, so that a burst of changes causes few of them.
const MIN_PAUSE: Duration = Duration::from_millis(20);
/// The pause after a reading in multiples of its duration. Lists can be slow to read, and every change of their entities
/// may affect them. With the pause, readings of a list take at most a quarter of the time, however many changes there are.
const PAUSE_FACTOR: u32 = 3;
/// The age up to which a new subscription uses the result of a reading, counted from the start of the reading. During the
/// pause after a reading, its result is used regardless of its age.
const MAX_AGE: Duration = Duration::from_millis(50);
/// The largest event. Each reading keeps its latest one in memory.
const MAX_EVENT_BYTES: usize = 4 << 20;
/// Delays before a failed reading is repeated; each is twice the previous one.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// Identifies equal subscriptions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SubscriptionKey {
    /// The key of the plan, which covers the record's id and the values of the session.
    pub(super) plan: PlanKey,
    /// Set if results can depend on the principal.
    pub(super) principal: Option<Arc<Principal>>,
}

/// The result of a reading, ready to be sent.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Update {
        /// The digest of the data, which is the id of the event.
        digest: Arc<str>,
        event: Bytes,
    },
    Failed(Arc<WireError>),
}

/// Reads records and pages for subscriptions.
pub(super) struct Reader {
    pub(super) mesh: Arc<Mesh>,
    unread: Arc<UnreadReplies>,
    timeout: Duration,
    pub(super) pause_factor: u32,
    permits: Semaphore,
}

impl Reader {
    pub(super) fn new(mesh: Arc<Mesh>, unread: Arc<UnreadReplies>, timeout: Duration) -> Self {
        Self { mesh, unread, timeout, pause_factor: PAUSE_FACTOR, permits: Semaphore::new(MAX_READINGS) }
    }
}

/// A record or a page that is read whenever it may have changed, with the latest outcome. Its task ends when it is dropped.
pub(super) struct SharedReading {
    reader: Arc<Reader>,
    pub(super) key: SubscriptionKey,
    plan: Plan,
    requested: watch::Sender<Requested>,
    finished: watch::Receiver<Finished>,
    latest: watch::Receiver<Option<Outcome>>,
}

/// Readings are numbered. All requests that arrive during a reading are satisfied by the next one.
#[derive(Clone, Copy, Default)]
struct Requested {
    last: u64,
    /// The last reading for which a new subscription waits, so that it is not delayed by a pause.
    urgent: u64,
}

/// The last reading that has finished.
#[derive(Clone, Copy, Default)]
struct Finished {
    number: u64,
    /// Until when new subscriptions use its result.
    fresh_until: Option<Instant>,
}

impl SharedReading {
    /// Starts the task that reads when it is requested. `request_id` is for the log.
    pub(super) fn start(
        reader: Arc<Reader>,
        key: SubscriptionKey,
        plan: Plan,
        request_id: &RequestId,
    ) -> Self {
        let (requested, requests) = watch::channel(Requested::default());
        let (finished, last_finished) = watch::channel(Finished::default());
        let (latest, last_outcome) = watch::channel(None);
        let task = ReadingTask {
            reader: Arc::clone(&reader),
            plan: plan.clone(),
            principal: key.principal.clone(),
            request_id: request_id.as_str().into(),
            requests,
            finished,
            latest,
        };
        tokio::spawn(task.run());
        Self { reader, key, plan, requested, finished: last_finished, latest: last_outcome }
    }

    pub(super) fn is_affected_by(&self, change: &Change) -> bool {
        self.plan.is_touched_by(change, self.reader.mesh.schema())
    }

    /// Requests another reading.
    pub(super) fn refresh(&self) {
        self.requested.send_modify(|requested| requested.last += 1);
    }

    /// Returns the outcomes from now on. The first one is recent and reflects all changes that were announced before the call.
    ///
    /// # Errors
    /// The reading fails or exceeds the deadline.
    pub(super) async fn subscribe(
        &self,
        deadline: Instant,
    ) -> Result<watch::Receiver<Option<Outcome>>, WireError> {
        let mut finished = self.finished.clone();
        let last = *finished.borrow();
        let is_fresh = last.fresh_until.is_some_and(|end| Instant::now() < end);
        let mut number = last.number;
        self.requested.send_if_modified(|requested| {
            let is_requested = !is_fresh || requested.last > number;
            if is_requested {
                requested.last += 1;
                requested.urgent = requested.last;
                number = requested.last;
            }
            is_requested
        });
        let reading = finished.wait_for(|finished| finished.number >= number);
        match tokio::time::timeout_at(deadline.into(), reading).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => return Err(WireError::internal()),
            Err(_) => return Err(WireError::timeout()),
        }
        let latest = self.latest.clone();
        let outcome = latest.borrow().clone();
        match outcome {
            Some(Outcome::Update { .. }) => Ok(latest),
            Some(Outcome::Failed(error)) => Err(WireError::clone(&error)),
            // A finished reading has always set an outcome.
            None => Err(WireError::internal()),
        }
    }
}

/// The task of a [`SharedReading`].
struct ReadingTask {
    reader: Arc<Reader>,
    plan: Plan,
    principal: Option<Arc<Principal>>,
    request_id: Arc<str>,
    requests: watch::Receiver<Requested>,
    finished: watch::Sender<Finished>,
    latest: watch::Sender<Option<Outcome>>,
}

impl ReadingTask {
    /// Reads until the reading is dropped.
    async fn run(mut self) {
        let (mut number, mut retry) = (0, None);
        loop {
            let requested = self.requests.wait_for(|requested| requested.last > number);
            // A failed reading is repeated without a request.
            let is_retry = match tokio::time::timeout(retry.unwrap_or(Duration::MAX), requested).await {
                Ok(Ok(_)) => false,
                Ok(Err(_)) => return,
                Err(_) => true,
            };
            let Ok(permit) = self.reader.permits.acquire().await else { return };
            number = self.requests.borrow().last;
            let start = Instant::now();
            let result = self.read().await;
            let duration = start.elapsed();
            drop(permit);
            let succeeded = self.publish(result);
            let pause =
                if succeeded { MIN_PAUSE.max(duration * self.reader.pause_factor) } else { MIN_PAUSE };
            let end = Instant::now() + pause;
            self.finished.send_replace(Finished { number, fresh_until: Some(end.max(start + MAX_AGE)) });
            retry = match retry {
                _ if succeeded => None,
                Some(delay) if is_retry => Some(MAX_RETRY_DELAY.min(delay * 2)),
                _ => Some(MIN_RETRY_DELAY),
            };
            let urgent = self.requests.wait_for(|requested| requested.urgent > number);
            if matches!(tokio::time::timeout_at(end.into(), urgent).await, Ok(Err(_))) {
                return;
            }
        }
    }

    async fn read(&self) -> Result<Bytes, ResolveError> {
        let deadline = Instant::now() + self.reader.timeout;
        let context =
            Context::new(&self.request_id).with_deadline(deadline).with_principal(self.principal.clone());
        let body = self.reader.mesh.read(&self.plan, &context);
        let body = tokio::time::timeout_at(deadline.into(), body).await;
        tracing::debug!(request = %self.request_id, entity = %self.plan.node().entity, "events: read");
        body.unwrap_or(Err(ResolveError::TimedOut)).map(|body| body.bytes)
    }

    /// Stores an outcome and wakes the subscriptions, unless the data has not changed. Returns whether there is data.
    fn publish(&self, result: Result<Bytes, ResolveError>) -> bool {
        let outcome = match result {
            Ok(body) if body.len() > MAX_EVENT_BYTES => {
                Outcome::Failed(Arc::new(WireError::validation(format!(
                    "The data of a stream has more than {MAX_EVENT_BYTES} bytes; select less, or fewer records with `$page`"
                ))))
            }
            Ok(body) => {
                let digest = sse::id(&body);
                if matches!(&*self.latest.borrow(), Some(Outcome::Update { digest: old, .. }) if **old == *digest)
                {
                    return true;
                }
                Outcome::Update { event: sse::update(&digest, &body), digest: digest.into() }
            }
            Err(error) => Outcome::Failed(Arc::new(error_log::logged(&self.request_id, error))),
        };
        let is_update = matches!(outcome, Outcome::Update { .. });
        if let Some(Outcome::Update { event, .. }) = self.latest.send_replace(Some(outcome)) {
            self.reader.unread.add_old_event(event);
        }
        is_update
    }
}
