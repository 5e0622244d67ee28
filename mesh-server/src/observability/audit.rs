//! The audit log: who did what, as one JSON object per event.
//!
//! Requests only queue their entries; a thread writes them. The queue is bounded in bytes: entries that do not fit are
//! dropped and counted, and the count is logged as an entry.

pub(crate) mod details;
pub(crate) mod entry;
mod file;
mod json;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use entry::Answered;
pub use entry::AuditEntry;
pub use file::AuditFile;
use queue::{Queue, weight_of};

use crate::observability::metrics::Exposition;
use crate::rates::client_address::counted_address;
use crate::rates::limiter::RateLimit;
use crate::rates::rate::Rate;

/// The pause after a failure of the sink.
const RETRY: Duration = Duration::from_secs(1);

/// The number of refusals per minute that are logged for one address without a session. Further refusals are only counted.
const REFUSALS_PER_MINUTE: u32 = 120;

/// Writes entries of the audit log.
pub trait AuditSink: Send + 'static {
    /// Writes entries in order and removes the written ones from `entries`. May block.
    ///
    /// # Errors
    /// An entry cannot be written at the moment. The remaining entries are passed again a second later.
    fn write(&mut self, entries: &mut VecDeque<AuditEntry>) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Returns how long to collect entries before they are written together.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }
}

/// The audit log of a server, for [`crate::AppOptions::audit`]. Cheap to clone; clones share the queue.
#[derive(Clone)]
pub struct AuditLog {
    /// Whether entries of writes contain the values of fields, and not only their names. False by default.
    pub values: bool,
    queue: Arc<Queue>,
    /// The refusals of an address without a session that are logged.
    refusals: RateLimit,
}

impl AuditLog {
    /// Starts the thread that writes to a sink.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(sink: impl AuditSink) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let source = Arc::clone(&queue);
        thread::Builder::new().name("mesh-audit".to_owned()).spawn(move || write_all(&source, sink))?;
        let refusals = RateLimit::new(Rate::per_minute(REFUSALS_PER_MINUTE));
        Ok(Self { queue, refusals, values: false })
    }

    /// Waits until all queued entries are written, but no longer than `timeout`. Returns the number of entries that are
    /// not written.
    pub fn flush(&self, timeout: Duration) -> usize {
        self.queue.wait_until_written(Instant::now() + timeout)
    }

    /// Writes the counters of the log.
    pub fn write_metrics(&self, out: &mut Exposition) {
        let [written, dropped, failures] = self.queue.counts().map(|count| count as f64);
        out.counter("mesh_audit_entries_total", "Entries written to the audit log.", &[(&[], written)]);
        let help = "Entries of the audit log that were dropped because its queue was full.";
        out.counter("mesh_audit_dropped_total", help, &[(&[], dropped)]);
        out.counter("mesh_audit_failures_total", "Failed writes to the audit log.", &[(&[], failures)]);
    }

    /// Queues the entry of a request, if requests of its kind are logged.
    pub(crate) fn record(&self, request: &Answered<'_>) {
        // The reply of a failed tool call has a successful status.
        let status = request.facts.error.as_ref().map_or(request.status, |error| error.status);
        let Some(event) = entry::event(request, status) else { return };
        let is_anonymous_refusal = entry::is_refusal(status) && request.facts.session.is_none();
        if is_anonymous_refusal && self.refusals.count(request.address.map(counted_address)).is_err() {
            self.queue.suppress();
            return;
        }
        self.queue.push(entry::request_entry(request, event, status));
    }
}

opaque_debug!(AuditLog);

/// Writes entries until the process ends.
fn write_all(queue: &Queue, mut sink: impl AuditSink) {
    let mut batch = VecDeque::new();
    let mut is_failing = false;
    loop {
        queue.wait(&mut batch, sink.delay());
        let (count, bytes) = (batch.len(), weight_of(&batch));
        let written = sink.write(&mut batch);
        queue.record_written(count - batch.len(), bytes - weight_of(&batch));
        match written {
            Ok(()) if std::mem::take(&mut is_failing) => tracing::info!("the audit log is written again"),
            Ok(()) => {}
            Err(error) => {
                queue.record_failure();
                // The failure is logged once until the next success.
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!("the audit log cannot be written, trying again: {error}");
                }
                thread::sleep(RETRY);
            }
        }
    }
}
