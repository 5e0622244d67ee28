//! Who watches what? Streams of changes, of which equal ones share one reading. `SPEC §10`
//!
//! A [`Hub`] keeps a [`topic`] for each distinct subscription: one plan, one record, and where answers depend
//! on it one identity. A topic listens before it reads, so no change is lost between the two; it reads again
//! when a change may concern it, and keeps the newest answer only. Streams take it from there whenever their
//! client is ready for more. What nobody watches any more is gone with its last stream.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use mesh_plan::{BoxFuture, Change, Changes, Mesh, Plan, Principal};
use mesh_wire::{RequestId, WireError};
use tokio::sync::{Notify, Semaphore};

use super::heartbeat::{self, Lifeline, Pulses};
use super::shared_reading::{Key, Topic};
use super::subscription::Subscription;

/// Readings that may run at a time. Changes can concern many topics at once, and reads of clients come first.
const READINGS: usize = 8;

/// Notices that are looked at together; more of them are taken for "anything".
const BATCH: usize = 256;

/// Settings of event streams, for [`crate::App::events`].
#[derive(Clone, Debug)]
pub struct Events {
    pub(super) heartbeat: Duration,
    pub(super) read_timeout: Duration,
}

impl Events {
    /// The protocol's time between two heartbeats.
    pub const DEFAULT_HEARTBEAT: Duration = Duration::from_secs(15);

    /// Streams with the protocol's heartbeat.
    pub fn new() -> Self {
        Self { heartbeat: Self::DEFAULT_HEARTBEAT, read_timeout: Duration::from_secs(10) }
    }

    /// Sets how often a stream without news says that it is alive.
    #[must_use]
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// Sets how long reading a record again may take.
    pub(crate) fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

/// Says whether a session goes on, or how it has ended.
pub(crate) type StillAlive = Arc<dyn Fn() -> BoxFuture<'static, Result<(), WireError>> + Send + Sync>;

/// Whose stream it is, and for how long.
#[derive(Clone, Default)]
pub(crate) struct Watcher {
    /// Whoever the session belongs to.
    pub(crate) principal: Option<Arc<Principal>>,
    /// Asked about the session as long as the stream is open.
    pub(crate) alive: Option<StillAlive>,
}

/// All streams of one application. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct Hub {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) mesh: Arc<Mesh>,
    pub(super) changes: Changes,
    pub(super) events: Events,
    pub(super) board: Mutex<Board>,
    /// Told when the last topic is gone.
    pub(super) idle: Notify,
    pub(super) readings: Semaphore,
    pub(super) pulses: Pulses,
    pub(super) streams: AtomicUsize,
    pub(super) closed: AtomicBool,
}

#[derive(Default)]
pub(super) struct Board {
    pub(super) topics: HashMap<Key, Weak<Topic>>,
    /// Whether a task hears of changes.
    pub(super) listening: bool,
    pub(super) sessions: HashMap<String, Weak<Lifeline>>,
    /// Whether a task keeps the pulse.
    pub(super) ticking: bool,
}

impl Shared {
    pub(super) fn board(&self) -> MutexGuard<'_, Board> {
        // Nothing that holds it can panic halfway through a change.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    pub(crate) fn new(mesh: Arc<Mesh>, changes: Changes, events: Events) -> Self {
        let shared = Shared {
            mesh,
            changes,
            pulses: Pulses::new(),
            events,
            board: Mutex::default(),
            idle: Notify::new(),
            readings: Semaphore::new(READINGS),
            streams: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Begins a stream and waits for what it shows first.
    ///
    /// # Errors
    /// When the record cannot be read: before a stream has begun, that is an error like any read's.
    pub(crate) async fn subscribe(
        &self,
        plan: Plan,
        watcher: Watcher,
        request_id: &RequestId,
        deadline: Instant,
    ) -> Result<Subscription, WireError> {
        if self.is_closed() {
            return Err(WireError::unavailable(1));
        }
        let topic = self.topic(plan, watcher.principal.as_ref(), request_id);
        let latest = topic.fresh(&self.shared, deadline).await?;
        let lifeline = watcher
            .principal
            .zip(watcher.alive)
            .map(|(principal, alive)| heartbeat::lifeline(&self.shared, principal.session.clone(), alive));
        let subscription = Subscription::new(&self.shared, topic, latest, lifeline, request_id.clone());
        heartbeat::keep(&self.shared);
        Ok(subscription)
    }

    /// Ends all streams and begins no more.
    pub(crate) fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.shared.pulses.close();
    }

    /// Ends all streams. Those that begin later end as soon as they have shown what there is.
    pub(crate) fn retire(&self) {
        self.shared.pulses.close();
    }

    fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::SeqCst)
    }

    /// How many streams are open, and how many topics they share.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.shared.streams.load(Ordering::Relaxed), self.shared.board().topics.len())
    }

    /// The topic of a subscription; of equal ones the same.
    fn topic(&self, plan: Plan, principal: Option<&Arc<Principal>>, request_id: &RequestId) -> Arc<Topic> {
        let principal = principal.filter(|_| self.shared.mesh.is_personal(&plan)).cloned();
        let key = Key { plan: plan.digest(), principal };
        let mut board = self.shared.board();
        if let Some(topic) = board.topics.get(&key).and_then(Weak::upgrade) {
            return topic;
        }
        let topic = Arc::new(Topic::new(&self.shared, key.clone(), plan, request_id));
        board.topics.insert(key, Arc::downgrade(&topic));
        // Listening begins before the topic's first reading, which begins after this.
        if !std::mem::replace(&mut board.listening, true) {
            let listener = self.shared.changes.listen();
            tokio::spawn(listen(Arc::clone(&self.shared), listener));
        }
        topic
    }
}

/// Hears of changes for as long as there are topics.
async fn listen(shared: Arc<Shared>, mut listener: mesh_plan::Listener) {
    loop {
        tokio::select! {
            change = listener.next() => {
                let Some(first) = change else { return };
                let mut batch = vec![first];
                while let Some(change) = listener.next_now() {
                    if batch.len() < BATCH {
                        batch.push(change);
                    } else {
                        batch = vec![Change::anything()];
                    }
                }
                spread(&shared, &batch);
            }
            () = shared.idle.notified() => {
                let mut board = shared.board();
                if board.topics.is_empty() {
                    board.listening = false;
                    // Dropped inside, so that whoever comes next begins to listen after this has ended.
                    drop(listener);
                    return;
                }
            }
        }
    }
}

/// Has the topics read again that a change may concern.
fn spread(shared: &Arc<Shared>, changes: &[Change]) {
    let topics: Vec<Arc<Topic>> = shared.board().topics.values().filter_map(Weak::upgrade).collect();
    let schema = shared.mesh.schema();
    let mut concerned = 0;
    for topic in topics {
        if changes.iter().any(|change| topic.plan().is_touched_by(change, schema)) {
            topic.read_again(shared);
            concerned += 1;
        }
    }
    tracing::debug!(changes = changes.len(), topics = concerned, "events: reading again");
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (streams, topics) = self.counts();
        f.debug_struct("Hub").field("streams", &streams).field("topics", &topics).finish_non_exhaustive()
    }
}
