//! Idle connections, which are closed after some time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::pool::link::Link;

/// The idle connections of a pool.
pub(super) struct IdleLinks {
    timeout: Duration,
    /// The connections, each with the time since which it is idle. The one used last is at the end.
    links: Mutex<Vec<(Arc<Link>, Instant)>>,
    /// Whether a task closes expired connections.
    is_swept: AtomicBool,
}

impl IdleLinks {
    pub(super) fn new(timeout: Duration) -> Arc<Self> {
        Arc::new(Self { timeout, links: Mutex::default(), is_swept: AtomicBool::new(false) })
    }

    /// Returns the number of connections.
    pub(super) fn len(&self) -> usize {
        self.links.lock().len()
    }

    /// Takes the connection that was used last, preferably one of the current runtime: messages of a connection of
    /// another runtime wake two threads.
    pub(super) fn take(&self) -> Option<Arc<Link>> {
        let runtime = Handle::current().id();
        let mut links = self.links.lock();
        let last = links.len().checked_sub(1)?;
        let index = links.iter().rposition(|(link, _)| link.runtime == runtime).unwrap_or(last);
        Some(links.remove(index).0)
    }

    /// Adds a connection.
    pub(super) fn add(self: &Arc<Self>, link: Arc<Link>) {
        self.links.lock().push((link, Instant::now()));
        if let Ok(runtime) = Handle::try_current()
            && !self.is_swept.swap(true, Ordering::Relaxed)
        {
            let (sweep, interval) = (Sweep(Arc::downgrade(self)), self.timeout / 2);
            runtime.spawn(async move {
                while sweep.0.upgrade().is_some_and(|links| links.len() > 0) {
                    tokio::time::sleep(interval).await;
                    if let Some(links) = sweep.0.upgrade() {
                        links.close_expired();
                    }
                }
            });
        }
    }

    fn close_expired(&self) {
        let mut links = self.links.lock();
        let is_expired = |(_, since): &mut (_, Instant)| since.elapsed() >= self.timeout;
        let expired: Vec<_> = links.extract_if(.., is_expired).collect();
        // The lock is released before connections are closed.
        drop(links);
        drop(expired);
    }
}

/// A guard that marks the closing task as running until it is dropped, for example when its runtime ends.
struct Sweep(Weak<IdleLinks>);

impl Drop for Sweep {
    fn drop(&mut self) {
        if let Some(links) = self.0.upgrade() {
            links.is_swept.store(false, Ordering::Relaxed);
        }
    }
}
