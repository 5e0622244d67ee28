//! Counters of requests by route, and of reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::exposition::{Exposition, Labels};
use crate::observability::record::{Facts, RouteKind, nanoseconds};

/// The statuses that have their own counter. All other statuses share the last counter.
const STATUSES: [u16; 25] = [
    200, 201, 204, 206, 302, 304, 307, 400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 414, 415, 416, 429,
    431, 500, 503, 0,
];

/// Upper bounds of histogram buckets in microseconds. One more bucket has no bound.
const BUCKETS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];

const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// The counters of one server.
#[derive(Default)]
pub(super) struct RequestCounters {
    /// The counters of each [`RouteKind`], indexed by its number.
    routes: [RouteCounters; RouteKind::ALL.len()],
    rows: AtomicU64,
    reads: AtomicU64,
    /// Time in the back end.
    read_nanoseconds: AtomicU64,
}

/// The counters of one kind of route.
#[derive(Default)]
struct RouteCounters {
    statuses: [AtomicU64; STATUSES.len()],
    durations: [Histogram; CLASSES.len()],
}

#[derive(Default)]
struct Histogram {
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
}

impl RequestCounters {
    /// Counts a request.
    pub(super) fn answered(&self, facts: &Facts, status: u16, duration: Duration) {
        let Some(route) = self.routes.get(facts.route as usize) else { return };
        let index = STATUSES.iter().position(|one| *one == status).unwrap_or(STATUSES.len() - 1);
        add(route.statuses.get(index), 1);
        let class = usize::from(status / 100).clamp(2, 5) - 2;
        if let Some(histogram) = route.durations.get(class) {
            let nanoseconds = nanoseconds(duration);
            let bucket = BUCKETS.partition_point(|end| end * 1_000 < nanoseconds);
            add(histogram.buckets.get(bucket), 1);
            add(Some(&histogram.nanoseconds), nanoseconds);
        }
        if let Some(read) = facts.read {
            add(Some(&self.rows), read.rows);
            add(Some(&self.reads), 1);
            add(Some(&self.read_nanoseconds), nanoseconds(read.duration));
        }
    }

    /// Writes the metrics of requests and reads.
    pub(super) fn write(&self, out: &mut Exposition) {
        let routes = || RouteKind::ALL.iter().zip(&self.routes);
        let name = "mesh_requests_total";
        out.begin(name, "counter", "Requests answered, by route and status.");
        for ((_, method, path), route) in routes() {
            for (status, count) in STATUSES.iter().zip(&route.statuses).filter(|(_, count)| load(count) > 0) {
                let labels = [("method", *method), ("route", path), ("status", &status.to_string())];
                out.sample(name, &labels, load(count) as f64);
            }
        }
        let name = "mesh_request_duration_seconds";
        let help = "Time from a request's head until the head of its reply, by route and status class.";
        out.begin(name, "histogram", help);
        for ((_, method, path), route) in routes() {
            for (class, histogram) in CLASSES.iter().zip(&route.durations) {
                histogram.write(out, name, &[("method", method), ("route", path), ("status", class)]);
            }
        }
        let rows = load(&self.rows) as f64;
        out.counter("mesh_rows_total", "Objects in the responses of reads.", &[(&[], rows)]);
        out.counter("mesh_reads_total", "Reads.", &[(&[], load(&self.reads) as f64)]);
        let help = "Time of reads in the back end: waiting for a connection, SQL, and shaping rows.";
        let seconds = load(&self.read_nanoseconds) as f64 / 1e9;
        out.counter("mesh_sql_seconds_total", help, &[(&[], seconds)]);
    }
}

impl Histogram {
    /// Writes the samples, if there are any.
    fn write(&self, out: &mut Exposition, name: &str, labels: Labels<'_>) {
        if self.buckets.iter().all(|count| load(count) == 0) {
            return;
        }
        let ends = BUCKETS.iter().map(|end| (*end as f64 / 1e6).to_string()).chain(["+Inf".to_owned()]);
        let mut total = 0;
        for (end, count) in ends.zip(&self.buckets) {
            total += load(count);
            let labels = [labels, &[("le", &end)]].concat();
            out.sample(&format!("{name}_bucket"), &labels, total as f64);
        }
        out.sample(&format!("{name}_sum"), labels, load(&self.nanoseconds) as f64 / 1e9);
        out.sample(&format!("{name}_count"), labels, total as f64);
    }
}

fn add(counter: Option<&AtomicU64>, count: u64) {
    if let Some(counter) = counter {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
