//! One reading of a record or of a page for all equal subscriptions.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mesh_plan::backend::PlanKey;
use mesh_plan::{Change, Context, Error, Mesh, Plan, Principal, ResolveError};
use mesh_wire::{RequestId, WireError, sse};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};

use crate::clients::{SharedEvent, UnsentBudget};
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
        event: Arc<SharedEvent>,
    },
    Failed(Arc<WireError>),
}

/// Reads records and pages for subscriptions.
pub(super) struct Reader {
    pub(super) mesh: Arc<Mesh>,
    timeout: Duration,
    pub(super) pause_factor: u32,
    permits: Semaphore,
}

impl Reader {
    pub(super) fn new(mesh: Arc<Mesh>, timeout: Duration) -> Self {
        Self { mesh, timeout, pause_factor: PAUSE_FACTOR, permits: Semaphore::new(MAX_READINGS) }
    }
}

/// A record or a page that is read whenever it may have changed, with the latest outcome.
pub(super) struct SharedReading {
    reader: Arc<Reader>,
    pub(super) key: SubscriptionKey,
    plan: Plan,
    /// The id of the request that created the reading, for the log.
    request_id: Arc<str>,
    /// Counts the latest outcome and those that slow clients still have.
    unsent: Arc<UnsentBudget>,
    progress: Mutex<Progress>,
    /// The number of the last reading that has finished.
    finished: watch::Sender<u64>,
    latest: watch::Sender<Option<Outcome>>,
    /// Ends the delay before a failed reading is repeated.
    retry_now: Arc<Notify>,
    /// Ends the pause after a reading, because a new subscription waits for the next one.
    skip_pause: Arc<Notify>,
}

/// Readings are numbered. All requests that arrive during a reading are satisfied by the next one.
#[derive(Default)]
struct Progress {
    requested: u64,
    is_running: bool,
    started_at: Option<Instant>,
    /// The end of the pause after the last reading, before which no change causes another one.
    paused_until: Option<Instant>,
}

impl SharedReading {
    pub(super) fn new(
        reader: Arc<Reader>,
        key: SubscriptionKey,
        plan: Plan,
        request_id: &RequestId,
        unsent: Arc<UnsentBudget>,
    ) -> Self {
        Self {
            reader,
            key,
            plan,
            request_id: request_id.as_str().into(),
            unsent,
            progress: Mutex::default(),
            finished: watch::Sender::new(0),
            latest: watch::Sender::new(None),
            retry_now: Arc::new(Notify::new()),
            skip_pause: Arc::new(Notify::new()),
        }
    }

    pub(super) fn is_affected_by(&self, change: &Change) -> bool {
        self.plan.is_touched_by(change, self.reader.mesh.schema())
    }

    /// Requests another reading and returns its number.
    pub(super) fn refresh(self: &Arc<Self>) -> u64 {
        let mut progress = self.progress.lock();
        progress.requested += 1;
        if std::mem::replace(&mut progress.is_running, true) {
            self.retry_now.notify_one();
        } else {
            tokio::spawn(run(Arc::downgrade(self), Arc::clone(&self.reader)));
        }
        progress.requested
    }

    /// Returns the outcomes from now on. The first one is recent and reflects all changes that were announced before the call.
    ///
    /// # Errors
    /// The reading fails or exceeds the deadline.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<watch::Receiver<Option<Outcome>>, WireError> {
        let recent = {
            let progress = self.progress.lock();
            let is_recent = progress.started_at.is_some_and(|started_at| started_at.elapsed() < MAX_AGE)
                || progress.paused_until.is_some_and(|end| Instant::now() < end);
            (is_recent && *self.finished.borrow() == progress.requested).then_some(progress.requested)
        };
        let number = recent.unwrap_or_else(|| {
            self.skip_pause.notify_one();
            self.refresh()
        });
        let mut finished = self.finished.subscribe();
        let reading = finished.wait_for(|finished| *finished >= number);
        if tokio::time::timeout_at(deadline.into(), reading).await.is_err() {
            return Err(WireError::timeout());
        }
        let latest = self.latest.subscribe();
        let outcome = latest.borrow().clone();
        match outcome {
            Some(Outcome::Update { .. }) => Ok(latest),
            Some(Outcome::Failed(error)) => Err(WireError::clone(&error)),
            // A finished reading has always set an outcome.
            None => Err(WireError::internal()),
        }
    }

    /// Waits until the pause after the last reading is over, or a new subscription needs the next one. The future holds no
    /// reference to the reading.
    fn pause(&self) -> impl Future<Output = ()> + Send + use<> {
        let end = self.progress.lock().paused_until.unwrap_or_else(Instant::now);
        let skip_pause = Arc::clone(&self.skip_pause);
        async move {
            let _ = tokio::time::timeout_at(end.into(), skip_pause.notified()).await;
        }
    }

    async fn read(&self) -> Result<Bytes, ResolveError> {
        let deadline = Instant::now() + self.reader.timeout;
        let context =
            Context::new(&self.request_id).with_deadline(deadline).with_principal(self.key.principal.clone());
        let body = self.reader.mesh.read(&self.plan, &context);
        let body = tokio::time::timeout_at(deadline.into(), body).await;
        tracing::debug!(request = %self.request_id, entity = %self.plan.node().entity, "events: read");
        body.unwrap_or(Err(ResolveError::TimedOut)).map(|body| body.bytes)
    }

    /// Stores an outcome and wakes the subscriptions, unless the data has not changed. Returns whether there is data.
    async fn publish(&self, result: Result<Bytes, ResolveError>) -> bool {
        let outcome = match result {
            Ok(body) => {
                let digest = sse::id(&body);
                if matches!(&*self.latest.borrow(), Some(Outcome::Update { digest: old, .. }) if **old == *digest)
                {
                    return true;
                }
                match SharedEvent::new(sse::update(&digest, &body), &self.unsent).await {
                    Ok(event) => Outcome::Update { event: Arc::new(event), digest: digest.into() },
                    Err(error) => Outcome::Failed(Arc::new(error)),
                }
            }
            Err(error) => {
                error_log::resolve_error(&self.request_id, &error);
                Outcome::Failed(Arc::new(Error::Resolve(error).into()))
            }
        };
        let is_update = matches!(outcome, Outcome::Update { .. });
        self.latest.send_replace(Some(outcome));
        is_update
    }
}

impl Drop for SharedReading {
    fn drop(&mut self) {
        // Wakes a waiting task so that it ends.
        self.retry_now.notify_one();
        self.skip_pause.notify_one();
    }
}

/// Reads until all requests are satisfied. Between readings the task holds no strong reference, so it ends with the last
/// subscription.
async fn run(reading: Weak<SharedReading>, reader: Arc<Reader>) {
    let mut retry = MIN_RETRY_DELAY;
    loop {
        let Some(pause) = reading.upgrade().map(|current| current.pause()) else { return };
        pause.await;
        let Some(current) = reading.upgrade() else { return };
        let Ok(permit) = reader.permits.acquire().await else { return };
        let start = Instant::now();
        let number = {
            let mut progress = current.progress.lock();
            progress.started_at = Some(start);
            progress.requested
        };
        let result = current.read().await;
        let duration = start.elapsed();
        drop(permit);
        let succeeded = current.publish(result).await;
        let is_running = {
            let mut progress = current.progress.lock();
            current.finished.send_replace(number);
            let pause = if succeeded { MIN_PAUSE.max(duration * reader.pause_factor) } else { MIN_PAUSE };
            progress.paused_until = Some(Instant::now() + pause);
            progress.is_running = progress.requested > number || !succeeded;
            progress.is_running
        };
        if !is_running {
            return;
        }
        let retry_now = Arc::clone(&current.retry_now);
        drop(current);
        if !succeeded && tokio::time::timeout(retry, retry_now.notified()).await.is_err() {
            retry = MAX_RETRY_DELAY.min(retry * 2);
        } else {
            retry = MIN_RETRY_DELAY;
        }
    }
}
