//! Counters of requests, in shards that threads are assigned to.
//!
//! A request updates up to seven counters. If all threads shared them, each update would fetch the cache line from another
//! CPU. The shards are added up when metrics are read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::observability::record::{RequestRecord, RouteKind, nanoseconds};

/// Number of shards. More threads than that share them.
const SHARDS: usize = 16;

/// The statuses with a counter each. Others are counted by the last.
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

/// Counters of a histogram: its buckets, and the sum in nanoseconds.
const HISTOGRAM: usize = BUCKETS.len() + 2;
/// Counters of one route.
const ROUTE: usize = STATUSES.len() + CLASSES.len() * HISTOGRAM;
/// The index of the counters of reads: rows, reads, nanoseconds in the back end.
const READS: usize = RouteKind::ALL.len() * ROUTE;
const ALL: usize = READS + 3;

/// The shard of the next thread.
static NEXT_SHARD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: usize = NEXT_SHARD.fetch_add(1, Ordering::Relaxed) % SHARDS;
}

/// The counters of all threads.
#[derive(Default)]
pub(super) struct RequestCounters([OnceLock<Shard>; SHARDS]);

impl RequestCounters {
    /// Counts a request in the shard of the current thread.
    pub(super) fn answered(&self, record: &RequestRecord, status: u16, duration: Duration) {
        if let Some(shard) = SHARD.with(|shard| self.0.get(*shard)) {
            shard.get_or_init(Shard::new).answered(record, status, duration);
        }
    }

    /// Adds up the counters of all shards.
    pub(super) fn sum(&self) -> Sum {
        let mut sum = vec![0; ALL];
        for shard in self.0.iter().filter_map(OnceLock::get) {
            for (sum, counter) in sum.iter_mut().zip(&shard.counters) {
                *sum += counter.load(Ordering::Relaxed);
            }
        }
        Sum(sum)
    }
}

struct Shard {
    counters: Box<[AtomicU64]>,
}

impl Shard {
    fn new() -> Self {
        Self { counters: (0..ALL).map(|_| AtomicU64::new(0)).collect() }
    }

    fn add(&self, index: usize, count: u64) {
        if let Some(counter) = self.counters.get(index) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn answered(&self, record: &RequestRecord, status: u16, duration: Duration) {
        let route = record.route() as usize * ROUTE;
        let index = STATUSES.iter().position(|one| *one == status).unwrap_or(STATUSES.len() - 1);
        self.add(route + index, 1);
        let class = (usize::from(status / 100)).clamp(2, 5) - 2;
        let histogram = route + STATUSES.len() + class * HISTOGRAM;
        let duration = nanoseconds(duration);
        let bucket = BUCKETS.partition_point(|end| end * 1_000 < duration);
        self.add(histogram + bucket, 1);
        self.add(histogram + BUCKETS.len() + 1, duration);
        if let Some(read) = record.read() {
            self.add(READS, read.rows);
            self.add(READS + 1, 1);
            self.add(READS + 2, nanoseconds(read.duration));
        }
    }
}

/// The sums of the counters of all shards.
pub(super) struct Sum(Vec<u64>);

/// A histogram.
pub(super) struct Histogram {
    /// Upper bound in seconds and count of each bucket.
    pub(super) buckets: Vec<(f64, u64)>,
    /// The sum of all values in seconds.
    pub(super) sum: f64,
}

impl Sum {
    fn get(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    /// Returns the statuses that were sent, with their counts.
    pub(super) fn statuses(&self, kind: RouteKind) -> impl Iterator<Item = (u16, u64)> {
        let first = kind as usize * ROUTE;
        let counts =
            STATUSES.iter().enumerate().map(move |(index, status)| (*status, self.get(first + index)));
        counts.filter(|(_, count)| *count > 0)
    }

    /// Returns the histograms of the status classes that were sent.
    pub(super) fn classes(&self, kind: RouteKind) -> impl Iterator<Item = (&'static str, Histogram)> {
        let first = kind as usize * ROUTE + STATUSES.len();
        CLASSES.iter().enumerate().filter_map(move |(class, name)| {
            let first = first + class * HISTOGRAM;
            let ends = BUCKETS.iter().map(|end| *end as f64 / 1e6).chain([f64::INFINITY]);
            let buckets: Vec<_> =
                ends.enumerate().map(|(bucket, end)| (end, self.get(first + bucket))).collect();
            let sum = self.get(first + BUCKETS.len() + 1) as f64 / 1e9;
            buckets.iter().any(|(_, count)| *count > 0).then_some((*name, Histogram { buckets, sum }))
        })
    }

    /// Returns rows, reads, and nanoseconds in the back end.
    pub(super) fn totals(&self) -> [u64; 3] {
        [0, 1, 2].map(|index| self.get(READS + index))
    }
}
