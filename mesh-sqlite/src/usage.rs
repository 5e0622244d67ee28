//! How busy is a database's back end? Numbers for whoever watches the server.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What of a back end is in use. What a back end does not have is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Connections that are open and not in use.
    pub idle: usize,
    /// The most that reads may use at a time; where most reads need no slot, those that run long.
    pub slots: usize,
    /// Slots that nobody holds.
    pub free: usize,
    /// How many times a read had to wait for a slot.
    pub waits: u64,
    /// How long those waits took in all.
    pub waited: Duration,
    /// Answers that are kept while the database does not change.
    pub answers: usize,
    /// The bytes of those answers.
    pub bytes: usize,
    /// Reads that were answered with one of them.
    pub hits: u64,
}

/// Waits for something there is only so much of.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Waits {
    /// Waits, and counts it.
    pub(crate) async fn through<T>(&self, waiting: impl Future<Output = T>) -> T {
        let start = Instant::now();
        let came = waiting.await;
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(took, Ordering::Relaxed);
        came
    }

    /// The same waits as part of a usage.
    pub(crate) fn fill(&self, usage: &mut Usage) {
        usage.waits = self.count.load(Ordering::Relaxed);
        usage.waited = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
    }
}
