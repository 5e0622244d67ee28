//! The queue of slow reads: a few run at a time, and more wait if they will probably finish before their deadline.
//!
//! The others are refused at once: they would be interrupted half-way, and the time spent on them would be lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mesh_plan::ResolveError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use mesh_plan::{Usage, WaitCounter};

/// Reads that may run at a time for each core. Some of them wait, for the disk or a writer; those that do not only
/// make one another take longer, so that more of them are late.
const PER_CORE: usize = 2;
/// The fewest places that there are.
const LEAST: usize = 4;
/// Reads that may wait for each place.
const WAITING: usize = 8;
/// How much longer than usual a read may take, in quarters of that.
const MARGIN: u32 = 6;
/// The part of a new measurement in the average is one of so many.
const SMOOTHING: u64 = 8;

/// Places for reads on threads of their own.
pub(crate) struct SlowReadQueue {
    places: Arc<Semaphore>,
    count: usize,
    waiting: AtomicUsize,
    waits: WaitCounter,
    /// How long a read takes of late, in microseconds.
    usual: AtomicU64,
}

impl SlowReadQueue {
    /// As many places as fit this machine.
    pub(crate) fn new() -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::of(cores.saturating_mul(PER_CORE).max(LEAST))
    }

    fn of(count: usize) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(count));
        let (waiting, waits) = (AtomicUsize::new(0), WaitCounter::default());
        Arc::new(Self { places, count, waiting, waits, usual: AtomicU64::new(0) })
    }

    /// Waits for a slot.
    ///
    /// # Errors
    /// [`ResolveError::Busy`], at once if the read would not finish before its deadline.
    pub(crate) async fn take(self: &Arc<Self>, deadline: Instant) -> Result<SlowReadPermit, ResolveError> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(self.begin(place));
        }
        let waiting = Waiting::begin(&self.waiting);
        let left = deadline.saturating_duration_since(Instant::now());
        if waiting.ahead >= self.count * WAITING || self.expected(waiting.ahead) > left {
            return Err(ResolveError::Busy);
        }
        let start = Instant::now();
        let place = tokio::time::timeout_at(deadline.into(), Arc::clone(&self.places).acquire_owned()).await;
        self.waits.record(start.elapsed());
        match place {
            // What was expected may have been wrong.
            Ok(Ok(place)) if self.usual() < deadline.saturating_duration_since(Instant::now()) => {
                Ok(self.begin(place))
            }
            Ok(_) | Err(_) => Err(ResolveError::Busy),
        }
    }

    fn usual(&self) -> Duration {
        Duration::from_micros(self.usual.load(Ordering::Relaxed))
    }

    /// How long it may take until one is done that has so many before it.
    fn expected(&self, ahead: usize) -> Duration {
        let usual = self.usual().saturating_mul(MARGIN) / 4;
        let ahead = u32::try_from(ahead + 1).unwrap_or(u32::MAX);
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        usual + usual.saturating_mul(ahead) / count
    }

    /// Adds what of it is in use.
    pub(crate) fn fill(&self, usage: &mut Usage) {
        usage.slots = self.count;
        usage.free = self.places.available_permits();
        usage.waits = self.waits.count();
        usage.waited = self.waits.total();
    }

    fn begin(self: &Arc<Self>, place: OwnedSemaphorePermit) -> SlowReadPermit {
        SlowReadPermit { slow_reads: Arc::clone(self), _place: place, begun: Instant::now() }
    }

    fn note(&self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let usual = self.usual.load(Ordering::Relaxed);
        // Of two that end at once one may be lost, which an average does not mind.
        self.usual.store(usual - usual / SMOOTHING + time / SMOOTHING, Ordering::Relaxed);
    }
}

/// One that waits.
struct Waiting<'t> {
    count: &'t AtomicUsize,
    ahead: usize,
}

impl<'t> Waiting<'t> {
    fn begin(count: &'t AtomicUsize) -> Self {
        Self { count, ahead: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right to run, until it is dropped.
pub(crate) struct SlowReadPermit {
    slow_reads: Arc<SlowReadQueue>,
    _place: OwnedSemaphorePermit,
    begun: Instant,
}

impl Drop for SlowReadPermit {
    fn drop(&mut self) {
        self.slow_reads.note(self.begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(time: Duration) -> Instant {
        Instant::now() + time
    }

    #[tokio::test]
    async fn so_many_run_and_so_many_wait() {
        let slow_reads = SlowReadQueue::of(2);
        let first = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        let _second = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..2 * WAITING {
            let slow_reads = Arc::clone(&slow_reads);
            waiting.push(tokio::spawn(async move {
                slow_reads.take(within(Duration::from_secs(60))).await.is_ok()
            }));
        }
        while slow_reads.waiting.load(Ordering::Relaxed) < 2 * WAITING {
            tokio::task::yield_now().await;
        }
        assert!(matches!(slow_reads.take(within(Duration::from_secs(60))).await, Err(ResolveError::Busy)));
        drop(first);
        for waiting in waiting {
            assert!(waiting.await.unwrap(), "each gets its turn");
        }
        assert_eq!(slow_reads.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn who_would_not_be_done_in_time_is_not_made_to_wait() {
        let slow_reads = SlowReadQueue::of(1);
        let running = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        slow_reads.usual.store(1_000_000, Ordering::Relaxed);
        let start = Instant::now();
        assert!(matches!(
            slow_reads.take(within(Duration::from_millis(2900))).await,
            Err(ResolveError::Busy)
        ));
        assert!(start.elapsed() < Duration::from_secs(1), "at once");
        let patient =
            tokio::time::timeout(Duration::from_millis(20), slow_reads.take(within(Duration::from_secs(60))));
        assert!(patient.await.is_err(), "this one waits");
        assert!(matches!(slow_reads.take(within(Duration::ZERO)).await, Err(ResolveError::Busy)));
        drop(running);
        // A place that is free is given whatever is expected.
        assert!(slow_reads.take(within(Duration::ZERO)).await.is_ok());
    }

    #[test]
    fn the_average_follows() {
        let slow_reads = SlowReadQueue::of(4);
        for _ in 0..100 {
            slow_reads.note(Duration::from_millis(80));
        }
        let expected = slow_reads.expected(3);
        assert!((230..250).contains(&expected.as_millis()), "{expected:?}");
    }
}
