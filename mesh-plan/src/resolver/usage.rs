//! Usage figures of a back end: connections, waits and cached answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Usage figures of a back end. A figure that does not apply to a back end is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Open connections that are idle.
    pub idle: usize,
    /// The number of reads that may run at the same time. SQLite counts only long reads.
    pub slots: usize,
    /// Slots that are free.
    pub free: usize,
    /// The number of reads that had to wait for a slot.
    pub waits: u64,
    /// The total duration of these waits.
    pub waited: Duration,
    /// Cached answers.
    pub answers: usize,
    /// The size of the cached answers in bytes.
    pub bytes: usize,
    /// Reads that were answered from the cache.
    pub hits: u64,
}

/// Counts waits for a slot and adds up their durations.
#[derive(Debug, Default)]
pub struct WaitCounter {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl WaitCounter {
    /// Counts one wait.
    pub fn record(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Returns the number of waits.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the total duration of all waits.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}
