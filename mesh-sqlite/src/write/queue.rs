//! The queue of writes, which one thread runs.
//!
//! The thread is taken from the runtime when a write arrives and returned when none is left. So writes that arrive together
//! wake one thread.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use mesh_plan::{Mutation, ResolveError, WriteError, WriteOutcome};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::WriteConnection;

/// The result of a write.
pub(super) type Written = Result<WriteOutcome, WriteError>;

/// Writes that wait for the connection.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Whether a thread runs the writes.
    is_served: bool,
    next_number: u64,
}

/// A write that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    number: u64,
    pub(super) mutation: Mutation,
    pub(super) deadline: Instant,
    pub(super) done: oneshot::Sender<Written>,
}

impl Queue {
    /// Runs a write when those before it are done. One that is given up while it waits is not run.
    ///
    /// # Errors
    /// [`ResolveError::Busy`] if it has not begun by its deadline, and the errors of the write.
    pub(super) async fn run(
        self: &Arc<Self>,
        connection: &Arc<Mutex<WriteConnection>>,
        mutation: Mutation,
        deadline: Instant,
    ) -> Written {
        let (done, mut written) = oneshot::channel();
        let (number, is_served) = {
            let mut state = self.0.lock();
            let number = state.next_number;
            state.next_number += 1;
            state.waiting.push_back(Waiting { number, mutation, deadline, done });
            (number, std::mem::replace(&mut state.is_served, true))
        };
        if !is_served {
            let (server, connection) = (Server(Some(Arc::clone(self))), Arc::clone(connection));
            tokio::task::spawn_blocking(move || server.serve(&connection));
        }
        let written = match tokio::time::timeout_at(deadline.into(), &mut written).await {
            Ok(written) => written,
            Err(_) if self.remove(number) => return Err(ResolveError::Busy.into()),
            // It has begun.
            Err(_) => written.await,
        };
        // The runtime has ended, or a write has panicked.
        written.unwrap_or_else(|_| Err(ResolveError::Panicked("a write".to_owned()).into()))
    }

    /// Removes a write. Returns whether it was waiting.
    fn remove(&self, number: u64) -> bool {
        let waiting = &mut self.0.lock().waiting;
        let before = waiting.len();
        waiting.retain(|write| write.number != number);
        waiting.len() < before
    }

    /// Takes the next write that was not given up.
    pub(super) fn next(&self) -> Option<Waiting> {
        let waiting = &mut self.0.lock().waiting;
        std::iter::from_fn(|| waiting.pop_front()).find(|write| !write.done.is_closed())
    }

    /// Returns whether no write waits. Then the next one needs another thread.
    fn is_done(&self) -> bool {
        let mut state = self.0.lock();
        state.is_served = !state.waiting.is_empty();
        !state.is_served
    }
}

/// Serves a queue. If it ends before it has run all writes, as a runtime does that shuts down, the others are refused.
struct Server(Option<Arc<Queue>>);

impl Server {
    fn serve(mut self, connection: &Mutex<WriteConnection>) {
        let Some(queue) = self.0.clone() else { return };
        while !queue.is_done() {
            let run = || {
                let mut connection = connection.lock();
                if let Some(first) = queue.next() {
                    connection.run(first, &queue);
                }
                // Others that wait for the connection get it between two writes.
                MutexGuard::unlock_fair(connection);
            };
            // The panic is reported to those whose write did not complete.
            let _ = catch_unwind(AssertUnwindSafe(run));
        }
        self.0 = None;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(queue) = &self.0 {
            let mut state = queue.0.lock();
            state.is_served = false;
            state.waiting.clear();
        }
    }
}
