//! Idle connections, which are closed after some time.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::connection::Connection;

/// The idle connections of a pool.
pub(super) struct IdleConnections<C> {
    timeout: Duration,
    state: Mutex<State<C>>,
}

struct State<C> {
    /// The connections, each with the time since which it is idle. The one used last is at the end.
    connections: Vec<(C, Instant)>,
    /// The task that closes expired connections. It ends with its runtime, or when there are none.
    sweeper: Option<AbortHandle>,
}

impl<C: Connection> IdleConnections<C> {
    /// Creates an empty list, whose connections are closed after this time.
    pub(super) fn new(timeout: Duration) -> Arc<Self> {
        let state = State { connections: Vec::new(), sweeper: None };
        Arc::new(Self { timeout, state: Mutex::new(state) })
    }

    /// Returns the number of connections.
    pub(super) fn count(&self) -> usize {
        self.state.lock().connections.len()
    }

    /// Takes the connection that was used last, preferably one of the current runtime: messages of a connection of
    /// another runtime wake two threads.
    pub(super) fn take(&self) -> Option<C> {
        let runtime = Handle::current().id();
        let connections = &mut self.state.lock().connections;
        connections.retain_mut(|(connection, _)| connection.is_open());
        let last = connections.len().checked_sub(1)?;
        let index = connections.iter().rposition(|(connection, _)| connection.runtime() == runtime);
        Some(connections.remove(index.unwrap_or(last)).0)
    }

    /// Adds a connection.
    pub(super) fn add(self: &Arc<Self>, connection: C) {
        let mut state = self.state.lock();
        state.connections.push((connection, Instant::now()));
        if state.sweeper.as_ref().is_none_or(AbortHandle::is_finished)
            && let Ok(runtime) = Handle::try_current()
        {
            state.sweeper = Some(runtime.spawn(sweep(Arc::downgrade(self), self.timeout / 2)).abort_handle());
        }
    }

    /// Closes the expired connections. Returns whether others are left.
    fn close_expired(&self) -> bool {
        let mut state = self.state.lock();
        let is_expired = |(_, since): &mut (_, Instant)| since.elapsed() >= self.timeout;
        let expired: Vec<_> = state.connections.extract_if(.., is_expired).collect();
        let has_others = !state.connections.is_empty();
        if !has_others {
            state.sweeper = None;
        }
        // The lock is released before connections are closed.
        drop(state);
        drop(expired);
        has_others
    }
}

async fn sweep<C: Connection>(idle: Weak<IdleConnections<C>>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        if !idle.upgrade().is_some_and(|idle| idle.close_expired()) {
            return;
        }
    }
}

impl<C> fmt::Debug for IdleConnections<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleConnections").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
