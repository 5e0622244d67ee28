//! Where is a request counted? In the counters of its thread's shard, which are added up when somebody asks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::observability::record::{RequestRecord, RouteKind, nanoseconds};

/// Shards. Threads beyond that many share them, which is right all the same.
const SHARDS: usize = 16;

/// The statuses that are told apart; another one counts as the last.
const STATUSES: [u16; 25] = [
    200, 201, 204, 206, 302, 304, 307, 400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 414, 415, 416, 429,
    431, 500, 503, 0,
];

/// Upper ends of the buckets of a histogram, in microseconds; one more bucket takes the rest.
const ENDS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];

const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Counters of a histogram: its buckets, and the sum in nanoseconds.
const HISTOGRAM: usize = ENDS.len() + 2;
/// Counters of one template.
const TEMPLATE: usize = STATUSES.len() + CLASSES.len() * HISTOGRAM;
/// Where the counters of reads begin: rows, reads, nanoseconds in the back end.
const READS: usize = RouteKind::ALL.len() * TEMPLATE;
const ALL: usize = READS + 3;

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
}

/// The counters of all threads.
#[derive(Default)]
pub(super) struct Shards([OnceLock<Shard>; SHARDS]);

impl Shards {
    /// The thread's own counters.
    pub(super) fn own(&self, count: impl FnOnce(&Shard)) {
        if let Some(shard) = OWN.with(|own| self.0.get(*own)) {
            count(shard.get_or_init(Shard::new));
        }
    }

    /// All of them together.
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

pub(super) struct Shard {
    counters: Box<[AtomicU64]>,
}

impl Shard {
    fn new() -> Self {
        Self { counters: (0..ALL).map(|_| AtomicU64::new(0)).collect() }
    }

    fn add(&self, place: usize, count: u64) {
        if let Some(counter) = self.counters.get(place) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    pub(super) fn answered(&self, record: &RequestRecord, status: u16, took: Duration) {
        let template = record.route() as usize * TEMPLATE;
        let place = STATUSES.iter().position(|one| *one == status).unwrap_or(STATUSES.len() - 1);
        self.add(template + place, 1);
        let class = (usize::from(status / 100)).clamp(2, 5) - 2;
        let histogram = template + STATUSES.len() + class * HISTOGRAM;
        let took = nanoseconds(took);
        let bucket = ENDS.partition_point(|end| end * 1_000 < took);
        self.add(histogram + bucket, 1);
        self.add(histogram + ENDS.len() + 1, took);
        if let Some(read) = record.read() {
            self.add(READS, read.rows);
            self.add(READS + 1, 1);
            self.add(READS + 2, nanoseconds(read.duration));
        }
    }
}

/// The counters of all shards, added up.
pub(super) struct Sum(Vec<u64>);

/// One histogram: how many fell into each bucket, with its upper end in seconds, and the sum in seconds.
pub(super) struct Histogram {
    pub(super) buckets: Vec<(f64, u64)>,
    pub(super) sum: f64,
}

impl Sum {
    fn at(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }

    /// How often each status was answered, of those that were.
    pub(super) fn statuses(&self, kind: RouteKind) -> impl Iterator<Item = (u16, u64)> {
        let first = kind as usize * TEMPLATE;
        let counts =
            STATUSES.iter().enumerate().map(move |(place, status)| (*status, self.at(first + place)));
        counts.filter(|(_, count)| *count > 0)
    }

    /// The histogram of each class of statuses that was answered.
    pub(super) fn classes(&self, kind: RouteKind) -> impl Iterator<Item = (&'static str, Histogram)> {
        let first = kind as usize * TEMPLATE + STATUSES.len();
        CLASSES.iter().enumerate().filter_map(move |(class, name)| {
            let first = first + class * HISTOGRAM;
            let ends = ENDS.iter().map(|end| *end as f64 / 1e6).chain([f64::INFINITY]);
            let buckets: Vec<_> =
                ends.enumerate().map(|(bucket, end)| (end, self.at(first + bucket))).collect();
            let sum = self.at(first + ENDS.len() + 1) as f64 / 1e9;
            buckets.iter().any(|(_, count)| *count > 0).then_some((*name, Histogram { buckets, sum }))
        })
    }

    /// Rows, reads, nanoseconds in the back end.
    pub(super) fn totals(&self) -> [u64; 3] {
        [0, 1, 2].map(|place| self.at(READS + place))
    }
}
