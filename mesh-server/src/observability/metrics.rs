//! Metrics in Prometheus' text format.
//!
//! A request adds to a few atomic counters. Everything else is computed when the metrics are read.

mod counters;
mod exposition;
mod process;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mesh_wire::{Code, WireError};
use parking_lot::Mutex;

use crate::observability::record::Facts;
use counters::RequestCounters;
pub use exposition::Exposition;

/// A function that adds metrics when they are read.
type Source = Box<dyn Fn(&mut Exposition) + Send + Sync>;

/// The counters of one server, for [`crate::AppOptions::metrics`]. Cheap to clone; clones share the counters.
///
/// ```
/// use mesh_server::Metrics;
///
/// let metrics = Metrics::default();
/// metrics.add(|out| out.gauge("blog_drafts", "Unpublished posts.", &[(&[], 3.0)]));
/// assert!(metrics.text().contains("\nblog_drafts 3\n"));
/// ```
#[derive(Clone, Default)]
pub struct Metrics {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    requests: RequestCounters,
    /// Connections that were accepted.
    accepted: AtomicU64,
    /// Connections that were closed because their address had too many connections.
    refused_connections: AtomicU64,
    /// Connections that have ended.
    ended: AtomicU64,
    /// Refusals by limit.
    hits: [AtomicU64; LIMITS.len()],
    panics: AtomicU64,
    sources: Mutex<Vec<Source>>,
}

/// The names of the limits that refuse requests.
const LIMITS: [&str; 7] =
    ["header_bytes", "body_bytes", "rows", "related_sort_rows", "request_timeout", "busy", "rate"];

/// Returns the limit that caused an error, if any.
fn exceeded_limit(error: &WireError) -> Option<&'static str> {
    match (error.status.as_u16(), error.code) {
        (_, Some(Code::ResultTooLarge)) => Some("rows"),
        (_, Some(Code::SortTooLarge)) => Some("related_sort_rows"),
        (_, Some(Code::Timeout)) => Some("request_timeout"),
        (413, _) => Some("body_bytes"),
        (414 | 431, _) => Some("header_bytes"),
        (429, _) => Some("rate"),
        (503, _) => Some("busy"),
        _ => None,
    }
}

impl Metrics {
    /// Adds a source, which is called whenever the metrics are read.
    pub fn add(&self, source: impl Fn(&mut Exposition) + Send + Sync + 'static) {
        self.shared.sources.lock().push(Box::new(source));
    }

    /// Returns the metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut out = Exposition::default();
        self.write(&mut out);
        out.into_text()
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, facts: &Facts, status: u16, duration: Duration) {
        self.shared.requests.answered(facts, status, duration);
    }

    /// Counts a refusal.
    pub(crate) fn refused(&self, error: &WireError) {
        let exceeded = exceeded_limit(error);
        if let Some((_, hits)) =
            LIMITS.iter().zip(&self.shared.hits).find(|(name, _)| Some(**name) == exceeded)
        {
            hits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a panic.
    pub(crate) fn panicked(&self) {
        self.shared.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that was closed because its address had too many connections.
    pub(crate) fn connection_refused(&self) {
        self.shared.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection. It counts as open until the returned value is dropped.
    pub(crate) fn connection_opened(&self) -> ConnectionGuard {
        self.shared.accepted.fetch_add(1, Ordering::Relaxed);
        ConnectionGuard(self.clone())
    }

    /// Writes all metrics.
    pub(crate) fn write(&self, out: &mut Exposition) {
        let shared = &self.shared;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        shared.requests.write(out);
        let name = "mesh_limit_hits_total";
        out.begin(name, "counter", "Requests refused by a limit.");
        for (limit, hits) in LIMITS.iter().zip(&shared.hits) {
            out.sample(name, &[("limit", limit)], load(hits) as f64);
        }
        let panics = load(&shared.panics) as f64;
        out.counter("mesh_panics_total", "Requests whose handler panicked.", &[(&[], panics)]);
        let (ended, accepted) = (load(&shared.ended), load(&shared.accepted));
        out.counter("mesh_connections_total", "Connections accepted.", &[(&[], accepted as f64)]);
        let refused = load(&shared.refused_connections) as f64;
        let help = "Connections closed because their client address had too many.";
        out.counter("mesh_connections_refused_total", help, &[(&[], refused)]);
        let open = accepted.saturating_sub(ended) as f64;
        out.gauge("mesh_connections_open", "Open connections.", &[(&[], open)]);
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        out.gauge("mesh_build_info", "The version of the server.", &[(&version, 1.0)]);
        process::write(out);
        for source in &*shared.sources.lock() {
            source(out);
        }
    }
}

opaque_debug!(Metrics);

/// An open connection.
#[derive(Debug)]
pub(crate) struct ConnectionGuard(Metrics);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.shared.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
