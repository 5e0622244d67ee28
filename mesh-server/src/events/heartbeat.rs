//! When does a stream say that it is alive, and when has it to end? One clock for all streams.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use mesh_wire::WireError;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::hub::{Shared, StillAlive};

/// Streams beat in so many groups, one after the other, so that they do not all write at one moment.
const PHASES: usize = 16;

/// How often sessions are asked about.
const SESSION_CHECKS: Duration = Duration::from_secs(1);

/// How many sessions are asked about at a time.
const CHECKS_AT_A_TIME: usize = 16;

/// What the clock tells streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pulse {
    /// Counts heartbeats.
    pub(super) beats: u64,
    /// The server stops.
    pub(super) closed: bool,
}

/// The beats of all groups.
pub(super) struct Pulses {
    phases: Vec<watch::Sender<Pulse>>,
    next: AtomicUsize,
}

impl Pulses {
    pub(super) fn new() -> Self {
        let phases = (0..PHASES).map(|_| watch::Sender::new(Pulse::default())).collect();
        Self { phases, next: AtomicUsize::new(0) }
    }

    /// The beats for one more stream.
    pub(super) fn join(&self) -> Option<watch::Receiver<Pulse>> {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % PHASES;
        self.phases.get(next).map(watch::Sender::subscribe)
    }

    pub(super) fn close(&self) {
        self.phases.iter().for_each(|phase| phase.send_modify(|pulse| pulse.closed = true));
    }

    fn beat(&self, phase: usize) {
        if let Some(phase) = self.phases.get(phase) {
            phase.send_modify(|pulse| pulse.beats += 1);
        }
    }
}

/// A session with open streams.
pub(super) struct Lifeline {
    session: String,
    alive: StillAlive,
    ended: OnceLock<Arc<WireError>>,
    /// Told when it has ended.
    end: Notify,
    shared: Weak<Shared>,
}

impl Lifeline {
    /// How the session has ended, as soon as it has.
    pub(super) async fn ended(&self) -> Arc<WireError> {
        loop {
            let mut told = pin!(self.end.notified());
            // Before it looks, so that no end comes in between.
            told.as_mut().enable();
            if let Some(error) = self.ended.get() {
                return Arc::clone(error);
            }
            told.await;
        }
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let mut board = shared.board();
        if board.sessions.get(&self.session).is_some_and(|session| session.strong_count() == 0) {
            board.sessions.remove(&self.session);
        }
    }
}

/// The lifeline of a session, shared by its streams.
pub(super) fn lifeline(shared: &Arc<Shared>, session: String, alive: StillAlive) -> Arc<Lifeline> {
    let mut board = shared.board();
    if let Some(lifeline) = board.sessions.get(&session).and_then(Weak::upgrade) {
        return lifeline;
    }
    let lifeline = Arc::new(Lifeline {
        session: session.clone(),
        alive,
        ended: OnceLock::new(),
        end: Notify::new(),
        shared: Arc::downgrade(shared),
    });
    board.sessions.insert(session, Arc::downgrade(&lifeline));
    lifeline
}

/// Has the clock tick as long as there are streams.
pub(super) fn keep(shared: &Arc<Shared>) {
    if !std::mem::replace(&mut shared.board().ticking, true) {
        tokio::spawn(tick(Arc::clone(shared)));
    }
}

async fn tick(shared: Arc<Shared>) {
    let step = (shared.events.heartbeat / PHASES as u32).max(Duration::from_millis(1));
    let mut beats = tokio::time::interval_at(Instant::now() + step, step);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut checks = tokio::time::interval(SESSION_CHECKS);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut phase = 0;
    // A store that takes its time holds up no heartbeat.
    let mut checking = tokio::spawn(std::future::ready(()));
    loop {
        tokio::select! {
            _ = beats.tick() => {
                shared.pulses.beat(phase);
                phase = (phase + 1) % PHASES;
            }
            _ = checks.tick() => {
                if checking.is_finished() {
                    checking = tokio::spawn(check_sessions(Arc::clone(&shared)));
                }
            }
        }
        let mut board = shared.board();
        if shared.streams.load(Ordering::SeqCst) == 0 {
            board.ticking = false;
            return;
        }
    }
}

/// Ends the streams of sessions that have ended. A store that cannot be asked now is asked again.
async fn check_sessions(shared: Arc<Shared>) {
    let sessions: Vec<Arc<Lifeline>> = {
        let board = shared.board();
        board.sessions.values().filter_map(Weak::upgrade).collect()
    };
    let asked = stream::iter(sessions).for_each_concurrent(CHECKS_AT_A_TIME, |session| async move {
        if session.ended.get().is_none()
            && let Err(error) = (session.alive)().await
        {
            // Nobody else sets it: one check is under way at a time.
            let _ = session.ended.set(Arc::new(error));
            session.end.notify_waiters();
        }
    });
    asked.await;
}
