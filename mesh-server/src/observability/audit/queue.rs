//! The queue of entries that wait for the writing thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::entry::{AuditEntry, count_entry};

/// The maximum number of bytes of entries that are not yet written.
const MAX_BYTES: usize = 4 << 20;
/// How long the counts of missing entries wait for the next entry before they are reported without it.
const REPORT_DELAY: Duration = Duration::from_secs(10);
/// The weight of an entry in addition to its text, in bytes.
const OVERHEAD: usize = 128;

/// Entries that are not written yet.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Notified when an entry is added, a refusal is counted or the queue is flushed.
    changed: Condvar,
    emptied: Condvar,
    written: AtomicU64,
    dropped: AtomicU64,
    failures: AtomicU64,
}

#[derive(Default)]
struct State {
    entries: VecDeque<AuditEntry>,
    /// The total weight of the entries and of those that the thread has taken.
    bytes: usize,
    /// The number of entries that the thread has taken but not yet written.
    in_flight: usize,
    /// The number of dropped entries that are not yet reported.
    dropped: u64,
    /// The number of refusals that were counted instead of logged and are not yet reported.
    suppressed: u64,
    /// Whether the server is stopping, so that all entries are written without delay.
    is_flushed: bool,
}

impl State {
    /// Returns whether there are counts to report.
    fn has_counts(&self) -> bool {
        self.dropped + self.suppressed > 0
    }

    /// Returns the number of entries to write.
    fn pending(&self) -> usize {
        self.in_flight + self.entries.len() + usize::from(self.has_counts())
    }
}

fn weight(entry: &AuditEntry) -> usize {
    entry.json.len() + OVERHEAD
}

impl Queue {
    /// Adds an entry, or counts it as dropped if the queue is full.
    pub(super) fn push(&self, entry: AuditEntry) {
        let mut state = self.state.lock();
        let bytes = state.bytes + weight(&entry);
        if bytes > MAX_BYTES {
            state.dropped += 1;
            let is_first = state.dropped == 1;
            drop(state);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            if is_first {
                tracing::warn!("the audit log is not written fast enough: entries are dropped");
            }
            return;
        }
        state.bytes = bytes;
        state.entries.push_back(entry);
        drop(state);
        self.changed.notify_one();
    }

    /// Counts a refusal that is not logged.
    pub(super) fn suppress(&self) {
        let mut state = self.state.lock();
        state.suppressed += 1;
        let is_first = state.suppressed == 1;
        drop(state);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// Waits for entries and moves them to `batch`, with a report of missing entries. Returns immediately if `batch`
    /// still has entries.
    pub(super) fn wait(&self, batch: &mut VecDeque<AuditEntry>, delay: Duration) {
        if !batch.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        while state.entries.is_empty() && !(state.is_flushed && state.has_counts()) {
            if !state.has_counts() {
                self.changed.wait(&mut state);
            } else if self.changed.wait_for(&mut state, REPORT_DELAY).timed_out() {
                break;
            }
        }
        if !delay.is_zero() && !state.is_flushed {
            drop(state);
            std::thread::sleep(delay);
            state = self.state.lock();
        }
        batch.append(&mut state.entries);
        for (event, count) in [
            ("dropped", std::mem::take(&mut state.dropped)),
            ("suppressed", std::mem::take(&mut state.suppressed)),
        ] {
            if count > 0 {
                let report = count_entry(event, count);
                state.bytes += weight(&report);
                batch.push_back(report);
            }
        }
        // The space of the taken entries is freed when they are written.
        state.in_flight = batch.len();
    }

    /// Frees the space of entries that were written.
    pub(super) fn record_written(&self, count: usize, bytes: usize) {
        self.written.fetch_add(count as u64, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.in_flight = state.in_flight.saturating_sub(count);
        state.bytes = state.bytes.saturating_sub(bytes);
        if state.pending() == 0 {
            self.emptied.notify_all();
        }
    }

    /// Counts a failed write.
    pub(super) fn record_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until all entries are written or the deadline passes. Returns the number of entries that are not written.
    pub(super) fn wait_until_written(&self, deadline: Instant) -> usize {
        let mut state = self.state.lock();
        state.is_flushed = true;
        self.changed.notify_one();
        while state.pending() > 0 {
            if self.emptied.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.pending()
    }

    /// Returns the numbers of entries written, entries dropped and failed writes.
    pub(super) fn counts(&self) -> [u64; 3] {
        [&self.written, &self.dropped, &self.failures].map(|count| count.load(Ordering::Relaxed))
    }
}

/// Returns the total weight of entries.
pub(super) fn weight_of(entries: &VecDeque<AuditEntry>) -> usize {
    entries.iter().map(weight).sum()
}
