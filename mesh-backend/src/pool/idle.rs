//! Idle connections, which are closed after some time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::connection::Connection;

/// The idle connections of a pool.
pub(super) struct IdleConnections<C> {
    timeout: Duration,
    /// The connections, each with the time since which it is idle. The one used last is at the end.
    connections: Mutex<Vec<(C, Instant)>>,
    /// Whether a task closes expired connections.
    is_swept: AtomicBool,
}

impl<C: Connection> IdleConnections<C> {
    /// Creates an empty list, whose connections are closed after this time.
    pub(super) fn new(timeout: Duration) -> Arc<Self> {
        Arc::new(Self { timeout, connections: Mutex::default(), is_swept: AtomicBool::new(false) })
    }

    /// Returns the number of connections.
    pub(super) fn count(&self) -> usize {
        self.connections.lock().len()
    }

    /// Takes the connection that was used last, preferably one of the current runtime: messages of a connection of
    /// another runtime wake two threads.
    pub(super) fn take(&self) -> Option<C> {
        let runtime = Handle::current().id();
        let mut connections = self.connections.lock();
        connections.retain_mut(|(connection, _)| connection.is_open());
        let last = connections.len().checked_sub(1)?;
        let index = connections.iter().rposition(|(connection, _)| connection.runtime() == runtime);
        Some(connections.remove(index.unwrap_or(last)).0)
    }

    /// Adds a connection.
    pub(super) fn add(self: &Arc<Self>, connection: C) {
        self.connections.lock().push((connection, Instant::now()));
        if let Ok(runtime) = Handle::try_current()
            && !self.is_swept.swap(true, Ordering::Relaxed)
        {
            let (sweep, interval) = (Sweep(Arc::downgrade(self)), self.timeout / 2);
            runtime.spawn(async move {
                while sweep.0.upgrade().is_some_and(|idle| idle.count() > 0) {
                    tokio::time::sleep(interval).await;
                    if let Some(idle) = sweep.0.upgrade() {
                        idle.close_expired();
                    }
                }
            });
        }
    }

    fn close_expired(&self) {
        let mut connections = self.connections.lock();
        let is_expired = |(_, since): &mut (_, Instant)| since.elapsed() >= self.timeout;
        let expired: Vec<_> = connections.extract_if(.., is_expired).collect();
        // The lock is released before connections are closed.
        drop(connections);
        drop(expired);
    }
}

/// A guard that marks the closing task as running until it is dropped, for example when its runtime ends.
struct Sweep<C>(Weak<IdleConnections<C>>);

impl<C> Drop for Sweep<C> {
    fn drop(&mut self) {
        if let Some(idle) = self.0.upgrade() {
            idle.is_swept.store(false, Ordering::Relaxed);
        }
    }
}

impl<C> std::fmt::Debug for IdleConnections<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdleConnections").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
