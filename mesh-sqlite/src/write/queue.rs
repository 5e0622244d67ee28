//! The queue of writes and scripts, which one thread runs.
//!
//! The thread is taken from the runtime when a write arrives and returned when none is left, so writes that arrive
//! together wake only one thread.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use mesh_plan::backend::{CommitGate, Script};
use mesh_plan::{Mutation, Outcome, ResolveError, WriteError, Written};
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::WriteConnection;
use super::script::ScriptResult;

/// The result of a write.
pub(super) type WriteResult = Result<Written, WriteError>;

/// A job that waits for the connection, with the sender of its result.
pub(super) enum Job {
    /// A write, which may share its transaction.
    Write { mutation: Box<Mutation>, gate: Arc<CommitGate>, done: ResultSender },
    /// A script, which gets a transaction of its own.
    Script { script: Arc<dyn Script>, gate: Arc<CommitGate>, done: oneshot::Sender<ScriptResult> },
}

impl Job {
    /// Returns whether the request of the job was cancelled.
    fn is_cancelled(&self) -> bool {
        match self {
            Self::Write { done, .. } => done.sender.is_closed(),
            Self::Script { done, .. } => done.is_closed(),
        }
    }
}

/// Writes and scripts that wait for the connection.
#[derive(Default)]
pub(super) struct Queue(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<QueuedJob>,
    /// Whether a thread runs the writes.
    is_served: bool,
    next_number: u64,
}

/// A job that waits.
struct QueuedJob {
    number: u64,
    deadline: Instant,
    job: Job,
}

/// A write that waits.
#[derive(Debug)]
pub(super) struct QueuedWrite {
    pub(super) mutation: Box<Mutation>,
    pub(super) deadline: Instant,
    pub(super) gate: Arc<CommitGate>,
    pub(super) done: ResultSender,
}

/// Sends the result of a write to its request.
#[derive(Debug)]
pub(super) struct ResultSender {
    sender: oneshot::Sender<WriteResult>,
    /// The runtime of the receiver.
    runtime: Handle,
}

impl ResultSender {
    /// Wraps the sender of a channel. Call this on the runtime of its receiver.
    pub(super) fn new(sender: oneshot::Sender<WriteResult>) -> Self {
        Self { sender, runtime: Handle::current() }
    }

    /// Sends the results of writes. Each result that is sent from this thread would wake the thread of its receiver, so
    /// one task on each runtime sends the results of that runtime's requests.
    pub(super) fn send_all(mut results: Vec<(Self, WriteResult)>) {
        while let Some((first, _)) = results.first() {
            let runtime = first.runtime.clone();
            let (own, others) = results.into_iter().partition(|(done, _)| done.runtime.id() == runtime.id());
            results = others;
            let own: Vec<(Self, WriteResult)> = own;
            runtime.spawn(async move {
                for (done, written) in own {
                    // The receiver is gone if the request was cancelled.
                    let _ = done.sender.send(written);
                }
            });
        }
    }
}

impl Queue {
    /// Runs a job after all jobs before it. A job that is cancelled while it waits is not run.
    ///
    /// It fails with [`ResolveError::Busy`] if it has not begun by its deadline, and with its own errors. If it panics, it may
    /// have been committed.
    pub(super) async fn run<T, E: From<ResolveError>>(
        self: &Arc<Self>,
        connection: &Arc<Mutex<WriteConnection>>,
        deadline: Instant,
        job: impl FnOnce(oneshot::Sender<Result<T, E>>) -> Job,
    ) -> Outcome<T, E> {
        let (done, mut written) = oneshot::channel();
        let job = job(done);
        let (number, is_served) = {
            let mut state = self.0.lock();
            let number = state.next_number;
            state.next_number += 1;
            state.waiting.push_back(QueuedJob { number, deadline, job });
            (number, std::mem::replace(&mut state.is_served, true))
        };
        if !is_served {
            let (worker, connection) = (QueueWorker(Some(Arc::clone(self))), Arc::clone(connection));
            tokio::task::spawn_blocking(move || worker.serve(&connection));
        }
        let written = match tokio::time::timeout_at(deadline.into(), &mut written).await {
            Ok(written) => written,
            Err(_) if self.remove(number) => return Outcome::NotCommitted(ResolveError::Busy.into()),
            // The job has begun.
            Err(_) => written.await,
        };
        // The runtime has ended, or a write has panicked.
        written.map_or_else(|_| Outcome::unknown("a write panicked"), Outcome::from)
    }

    /// Removes a write. Returns whether it was waiting.
    fn remove(&self, number: u64) -> bool {
        let waiting = &mut self.0.lock().waiting;
        let before = waiting.len();
        waiting.retain(|write| write.number != number);
        waiting.len() < before
    }

    /// Takes the next job that was not cancelled.
    fn next(&self) -> Option<QueuedJob> {
        let waiting = &mut self.0.lock().waiting;
        std::iter::from_fn(|| waiting.pop_front()).find(|queued| !queued.job.is_cancelled())
    }

    /// Takes the next job if it is a write that was not cancelled.
    pub(super) fn next_write(&self) -> Option<QueuedWrite> {
        let waiting = &mut self.0.lock().waiting;
        while waiting.front().is_some_and(|queued| queued.job.is_cancelled()) {
            waiting.pop_front();
        }
        match waiting.pop_front()? {
            QueuedJob { job: Job::Write { mutation, gate, done }, deadline, .. } => {
                Some(QueuedWrite { mutation, deadline, gate, done })
            }
            script => {
                waiting.push_front(script);
                None
            }
        }
    }

    /// Returns whether no job is waiting. If so, the next job needs another thread.
    fn is_done(&self) -> bool {
        let mut state = self.0.lock();
        state.is_served = !state.waiting.is_empty();
        !state.is_served
    }
}

/// The worker of a queue. If it ends before it has run all writes, as when the runtime shuts down, the remaining ones
/// are refused.
struct QueueWorker(Option<Arc<Queue>>);

impl QueueWorker {
    fn serve(mut self, connection: &Mutex<WriteConnection>) {
        let Some(queue) = self.0.clone() else { return };
        while !queue.is_done() {
            let run = || {
                let mut connection = connection.lock();
                match queue.next() {
                    Some(QueuedJob { job: Job::Write { mutation, gate, done }, deadline, .. }) => {
                        connection.run(QueuedWrite { mutation, deadline, gate, done }, &queue);
                    }
                    Some(QueuedJob { job: Job::Script { script, gate, done }, deadline, .. }) => {
                        // The receiver is gone if the request was cancelled.
                        let _ = done.send(connection.run_script(&*script, deadline, &gate));
                    }
                    None => {}
                }
                // Other users of the connection get it between two writes.
                MutexGuard::unlock_fair(connection);
            };
            // The panic is reported to the requests whose writes did not complete.
            let _ = catch_unwind(AssertUnwindSafe(run));
        }
        self.0 = None;
    }
}

impl Drop for QueueWorker {
    fn drop(&mut self) {
        if let Some(queue) = &self.0 {
            let mut state = queue.0.lock();
            state.is_served = false;
            state.waiting.clear();
        }
    }
}
