//! What do all streams of one subscription show? The newest answer, read once for all of them.

use std::error::Error as _;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mesh_plan::{Context, Error, Plan, Principal, ResolveError};
use mesh_wire::{RequestId, WireError, sse};
use tokio::sync::{Notify, watch};

use super::hub::Shared;

/// Pause between two readings, so that a burst of changes costs a few of them.
const PAUSE: Duration = Duration::from_millis(20);

/// A stream that begins so soon after a reading has begun is shown what that has found.
const FRESH: Duration = Duration::from_millis(50);

/// After a reading has failed it is tried again; the pause doubles up to the longest.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// What makes subscriptions equal.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The plan with its record and what it takes from the session.
    pub(super) plan: [u8; 32],
    /// Who asks, where answers may depend on more of that.
    pub(super) principal: Option<Arc<Principal>>,
}

/// An answer, as all streams send it.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// The record in the shape asked for.
    Update {
        /// The digest of the data.
        id: Arc<str>,
        /// The whole event.
        frame: Bytes,
    },
    /// Reading failed.
    Failed(Arc<WireError>),
}

pub(super) struct Topic {
    key: Key,
    plan: Plan,
    /// Names the topic in the log: the id of the request that it began with.
    request_id: Arc<str>,
    shared: Weak<Shared>,
    work: Mutex<Work>,
    /// Told when a reading is done.
    done: Notify,
    latest: watch::Sender<Option<Answer>>,
    /// Told when something has changed while a failed reading waits to be tried again.
    nudge: Notify,
}

/// Readings are numbered. One that is asked for while another is under way comes after it, once for all who
/// have asked by then.
#[derive(Default)]
struct Work {
    wanted: u64,
    done: u64,
    running: bool,
    began: Option<Instant>,
}

impl Topic {
    pub(super) fn new(shared: &Arc<Shared>, key: Key, plan: Plan, request_id: &RequestId) -> Self {
        Self {
            key,
            plan,
            request_id: request_id.as_str().into(),
            shared: Arc::downgrade(shared),
            work: Mutex::default(),
            done: Notify::new(),
            latest: watch::Sender::new(None),
            nudge: Notify::new(),
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Asks for another reading and returns its number.
    pub(super) fn read_again(self: &Arc<Self>, shared: &Arc<Shared>) -> u64 {
        let mut work = self.work();
        work.wanted += 1;
        let wanted = work.wanted;
        if !std::mem::replace(&mut work.running, true) {
            drop(work);
            tokio::spawn(run(Arc::downgrade(self), Arc::clone(shared)));
        } else {
            self.nudge.notify_one();
        }
        wanted
    }

    /// The newest answer, from a reading that began after this was called or a moment before.
    pub(super) async fn fresh(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        deadline: Instant,
    ) -> Result<watch::Receiver<Option<Answer>>, WireError> {
        let wanted = {
            let work = self.work();
            let is_fresh =
                work.done == work.wanted && work.began.is_some_and(|began| began.elapsed() < FRESH);
            is_fresh.then_some(work.done)
        };
        let wanted = wanted.unwrap_or_else(|| self.read_again(shared));
        if tokio::time::timeout_at(deadline.into(), self.is_done(wanted)).await.is_err() {
            return Err(WireError::timeout());
        }
        let latest = self.latest.subscribe();
        let failure = match &*latest.borrow() {
            Some(Answer::Update { .. }) => None,
            Some(Answer::Failed(error)) => Some(WireError::clone(error)),
            // A reading that is done has left an answer.
            None => Some(WireError::internal()),
        };
        failure.map_or(Ok(latest), Err)
    }

    /// Waits until the reading of that number is done, or a later one.
    async fn is_done(&self, wanted: u64) {
        loop {
            let mut told = pin!(self.done.notified());
            // Before it looks, so that no end comes in between.
            told.as_mut().enable();
            if self.work().done >= wanted {
                return;
            }
            told.await;
        }
    }

    async fn read(&self, shared: &Shared) -> Result<Bytes, ResolveError> {
        let deadline = Instant::now() + shared.events.read_timeout;
        let context =
            Context::new(&self.request_id).with_deadline(deadline).with_principal(self.key.principal.clone());
        let reading = shared.mesh.read(&self.plan, &context);
        let reading = tokio::time::timeout_at(deadline.into(), reading).await;
        tracing::debug!(request = %self.request_id, entity = %self.plan.node().entity, "events: one reading");
        reading.unwrap_or(Err(ResolveError::TimedOut)).map(|body| body.bytes)
    }

    /// Whether streams have something to send is for them to see; equal answers do not even wake them.
    fn publish(&self, result: Result<Bytes, ResolveError>) -> bool {
        let answer = match result {
            Ok(body) => {
                let id = sse::id(&body);
                Answer::Update { frame: sse::update(&id, &body), id: id.into() }
            }
            Err(error) => {
                log(&self.request_id, &error);
                Answer::Failed(Arc::new(Error::Resolve(error).into()))
            }
        };
        let succeeded = matches!(answer, Answer::Update { .. });
        self.latest.send_if_modified(|latest| {
            let same = matches!(
                (&*latest, &answer),
                (Some(Answer::Update { id: old, .. }), Answer::Update { id: new, .. }) if old == new
            );
            if !same {
                *latest = Some(answer);
            }
            !same
        });
        succeeded
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        // Numbers only: whole at any moment.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads until all that was asked for is done. Holds the topic while it reads only, so that one that nobody
/// watches ends.
async fn run(topic: Weak<Topic>, shared: Arc<Shared>) {
    let mut retry = FIRST_RETRY;
    while let Some(topic) = topic.upgrade() {
        let Ok(permit) = shared.readings.acquire().await else { return };
        let number = {
            let mut work = topic.work();
            work.began = Some(Instant::now());
            work.wanted
        };
        let result = topic.read(&shared).await;
        drop(permit);
        let succeeded = topic.publish(result);
        let more = {
            let mut work = topic.work();
            work.done = number;
            // A failed reading is tried again even where nothing else changes.
            work.running = work.wanted > number || !succeeded;
            work.running
        };
        topic.done.notify_waiters();
        if !more {
            return;
        }
        if succeeded {
            retry = FIRST_RETRY;
            drop(topic);
            tokio::time::sleep(PAUSE).await;
        } else {
            let asked = wait_for_nudge(topic, retry).await;
            retry = if asked { FIRST_RETRY } else { LAST_RETRY.min(retry * 2) };
        }
    }
}

/// Waits for the time of another try, or until one is asked for; whichever it was.
async fn wait_for_nudge(topic: Arc<Topic>, time: Duration) -> bool {
    // In short steps, so that a topic that nobody watches does not stay for the whole time.
    const STEP: Duration = Duration::from_millis(500);
    let end = Instant::now() + time;
    let weak = Arc::downgrade(&topic);
    drop(topic);
    while Instant::now() < end {
        let Some(topic) = weak.upgrade() else { return false };
        let step = STEP.min(end.saturating_duration_since(Instant::now()));
        if tokio::time::timeout(step, topic.nudge.notified()).await.is_ok() {
            drop(topic);
            tokio::time::sleep(PAUSE).await;
            return true;
        }
    }
    false
}

impl Drop for Topic {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let mut board = shared.board();
        // Another of the same key may have taken the place since.
        if board.topics.get(&self.key).is_some_and(|topic| topic.strong_count() == 0) {
            board.topics.remove(&self.key);
        }
        if board.topics.is_empty() {
            shared.idle.notify_one();
        }
    }
}

/// Logs what clients are not told.
fn log(request_id: &str, error: &ResolveError) {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    tracing::error!(request = %request_id, "reading for event streams: {text}");
}
