//! What does this server do, in numbers? Counted beside the requests, written as Prometheus reads it.
//!
//! A request costs a few additions to counters that its thread hardly ever shares with another, and one look at the
//! clock. Everything else is found out when somebody asks.

mod process;
mod shard;
mod text;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mesh_wire::{Code, WireError};

use crate::observability::record::{RequestRecord, RouteKind};
use shard::Shards;
pub use text::Exposition;

/// Adds what it knows when the numbers are asked for.
type Source = Box<dyn Fn(&mut Exposition) + Send + Sync>;

/// The counters of one server, for [`crate::AppBuilder::metrics`]. Cheap to clone; all clones are one.
///
/// ```
/// use mesh_server::Metrics;
///
/// let metrics = Metrics::new();
/// metrics.add(|out| out.gauge("blog_drafts", "Posts that wait.", &[(&[], 3.0)]));
/// assert!(metrics.text().contains("\nblog_drafts 3\n"));
/// ```
#[derive(Clone)]
pub struct Metrics {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    shards: Shards,
    /// Connections that were accepted, and those that have ended.
    accepted: AtomicU64,
    ended: AtomicU64,
    hits: [AtomicU64; Limit::ALL.len()],
    panics: AtomicU64,
    sources: Mutex<Vec<Source>>,
}

/// A bound that requests may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Head,
    Body,
    Rows,
    Time,
    Busy,
    Rate,
}

impl Limit {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Head, "header_bytes"),
        (Self::Body, "body_bytes"),
        (Self::Rows, "rows"),
        (Self::Time, "request_timeout"),
        (Self::Busy, "busy"),
        (Self::Rate, "rate"),
    ];

    /// The bound that a refusal is about, where it is about one.
    fn of(error: &WireError) -> Option<Self> {
        match (error.status.as_u16(), error.code) {
            (_, Some(Code::ResultTooLarge)) => Some(Self::Rows),
            (_, Some(Code::Timeout)) => Some(Self::Time),
            (413, _) => Some(Self::Body),
            (414 | 431, _) => Some(Self::Head),
            (429, _) => Some(Self::Rate),
            (503, _) => Some(Self::Busy),
            _ => None,
        }
    }
}

impl Metrics {
    /// Counters that stand at zero.
    pub fn new() -> Self {
        Self { shared: Arc::default() }
    }

    /// Has something told whenever the numbers are asked for.
    pub fn add(&self, source: impl Fn(&mut Exposition) + Send + Sync + 'static) {
        self.shared.sources.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(source));
    }

    /// The numbers as Prometheus reads them.
    pub fn text(&self) -> String {
        let mut out = Exposition::default();
        self.write(&mut out);
        out.into_text()
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, record: &RequestRecord, status: u16, took: Duration) {
        self.shared.shards.own(|shard| shard.answered(record, status, took));
    }

    /// Counts a refusal.
    pub(crate) fn refused(&self, error: &WireError) {
        let hit = Limit::of(error).and_then(|limit| self.shared.hits.get(limit as usize));
        if let Some(hit) = hit {
            hit.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a panic.
    pub(crate) fn panicked(&self) {
        self.shared.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection, which is open for as long as the value lives.
    pub(crate) fn connected(&self) -> Connected {
        self.shared.accepted.fetch_add(1, Ordering::Relaxed);
        Connected(self.clone())
    }

    pub(crate) fn write(&self, out: &mut Exposition) {
        let shared = &self.shared;
        self.write_requests(out);
        let hits = Limit::ALL.iter().zip(&shared.hits);
        let hits: Vec<_> =
            hits.map(|((_, name), hit)| ([("limit", *name)], hit.load(Ordering::Relaxed))).collect();
        let hits: Vec<_> = hits.iter().map(|(labels, count)| (&labels[..], *count as f64)).collect();
        out.counter("mesh_limit_hits_total", "Requests refused for passing a limit.", &hits);
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (ended, accepted) = (load(&shared.ended), load(&shared.accepted));
        out.counter(
            "mesh_panics_total",
            "Requests whose handler panicked.",
            &[(&[], load(&shared.panics) as f64)],
        );
        out.counter("mesh_connections_total", "Connections accepted.", &[(&[], accepted as f64)]);
        let open = accepted.saturating_sub(ended);
        out.gauge("mesh_connections_open", "Connections open now.", &[(&[], open as f64)]);
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        out.gauge("mesh_build_info", "The version that runs.", &[(&version, 1.0)]);
        process::write(out);
        for source in &*shared.sources.lock().unwrap_or_else(PoisonError::into_inner) {
            source(out);
        }
    }

    fn write_requests(&self, out: &mut Exposition) {
        let sum = self.shared.shards.sum();
        out.begin("mesh_requests_total", "counter", "Requests answered, by route and status.");
        for kind in RouteKind::ALL {
            let (method, route) = kind.labels();
            for (status, count) in sum.statuses(kind) {
                let labels = [("method", method), ("route", route), ("status", &status.to_string())];
                out.sample("mesh_requests_total", &labels, count as f64);
            }
        }
        let name = "mesh_request_duration_seconds";
        out.begin(
            name,
            "histogram",
            "Time from a request's head until its reply begins, by route and class of status.",
        );
        for kind in RouteKind::ALL {
            let (method, route) = kind.labels();
            for (class, histogram) in sum.classes(kind) {
                let labels = [("method", method), ("route", route), ("status", class)];
                out.histogram(name, &labels, &histogram);
            }
        }
        let [rows, reads, nanoseconds] = sum.totals();
        out.counter("mesh_rows_total", "Objects of answers to reads.", &[(&[], rows as f64)]);
        out.counter("mesh_reads_total", "Reads that were planned.", &[(&[], reads as f64)]);
        let help =
            "Time of reads in the back end: waiting for a connection, SQL, and shaping rows as they come.";
        out.counter("mesh_sql_seconds_total", help, &[(&[], nanoseconds as f64 / 1e9)]);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connected(Metrics);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.shared.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
