//! The queue of slow reads: a few run at a time, and more wait if they will probably finish before their deadline.
//!
//! Others are refused immediately, because they would be interrupted before they finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mesh_plan::ResolveError;
use mesh_plan::backend::{Usage, WaitCounter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Concurrent reads per core. There is more than one, because some reads wait for the disk or a writer. There are few,
/// because running reads slow each other down.
const PER_CORE: usize = 2;
/// The minimum number of slots.
const MIN_SLOTS: usize = 4;
/// Reads that may wait per slot.
const WAITING_PER_SLOT: usize = 8;
/// The assumed duration of a read, in quarters of the average.
const MARGIN_QUARTERS: u32 = 6;
/// The weight of a new measurement in the average is one divided by this number.
const SMOOTHING: u64 = 8;

/// The slots for slow reads, and the queue for them.
pub(crate) struct SlowReadQueue {
    free: Arc<Semaphore>,
    slots: usize,
    waiting: AtomicUsize,
    waits: WaitCounter,
    /// The moving average of the duration of a read, in microseconds.
    average: AtomicU64,
}

impl SlowReadQueue {
    /// Creates a queue with a number of slots that fits this machine.
    pub(crate) fn new() -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::with_slots(cores.saturating_mul(PER_CORE).max(MIN_SLOTS))
    }

    fn with_slots(slots: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(slots));
        let (waiting, waits) = (AtomicUsize::new(0), WaitCounter::default());
        Arc::new(Self { free, slots, waiting, waits, average: AtomicU64::new(0) })
    }

    /// Waits for a slot.
    ///
    /// # Errors
    /// [`ResolveError::Busy`], immediately if the read would not finish before its deadline.
    pub(crate) async fn take(self: &Arc<Self>, deadline: Instant) -> Result<SlowReadPermit, ResolveError> {
        if let Ok(slot) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(self.permit(slot));
        }
        let waiting = WaitingRead::new(&self.waiting);
        let left = deadline.saturating_duration_since(Instant::now());
        if waiting.ahead >= self.slots * WAITING_PER_SLOT || self.expected(waiting.ahead) > left {
            return Err(ResolveError::Busy);
        }
        let start = Instant::now();
        let slot = tokio::time::timeout_at(deadline.into(), Arc::clone(&self.free).acquire_owned()).await;
        self.waits.record(start.elapsed());
        match slot {
            // The wait may have been longer than expected.
            Ok(Ok(slot)) if self.average() < deadline.saturating_duration_since(Instant::now()) => {
                Ok(self.permit(slot))
            }
            Ok(_) | Err(_) => Err(ResolveError::Busy),
        }
    }

    /// Waits until all running reads have ended. Reads that begin afterwards wait until the returned permit is dropped.
    pub(crate) async fn pause(&self) -> Option<OwnedSemaphorePermit> {
        let slots = u32::try_from(self.slots).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        Arc::clone(&self.free).acquire_many_owned(slots).await.ok()
    }

    fn average(&self) -> Duration {
        Duration::from_micros(self.average.load(Ordering::Relaxed))
    }

    /// Returns the expected time until a read with `ahead` reads before it is done.
    fn expected(&self, ahead: usize) -> Duration {
        let average = self.average() * MARGIN_QUARTERS / 4;
        average + average.mul_f64((ahead + 1) as f64 / self.slots as f64)
    }

    /// Adds the numbers of slots and waits to usage figures.
    pub(crate) fn add_usage(&self, usage: &mut Usage) {
        usage.slots = self.slots;
        usage.free = self.free.available_permits();
        usage.waits = self.waits.count();
        usage.waited = self.waits.total();
    }

    fn permit(self: &Arc<Self>, slot: OwnedSemaphorePermit) -> SlowReadPermit {
        SlowReadPermit { slow_reads: Arc::clone(self), _slot: slot, start: Instant::now() }
    }

    fn record(&self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let average = self.average.load(Ordering::Relaxed);
        // One of two concurrent measurements may be lost, which hardly changes the average.
        self.average.store(average - average / SMOOTHING + time / SMOOTHING, Ordering::Relaxed);
    }
}

/// A guard that counts a read while it waits.
struct WaitingRead<'t> {
    count: &'t AtomicUsize,
    ahead: usize,
}

impl<'t> WaitingRead<'t> {
    fn new(count: &'t AtomicUsize) -> Self {
        Self { count, ahead: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for WaitingRead<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A slot for a slow read, which is released on drop.
pub(crate) struct SlowReadPermit {
    slow_reads: Arc<SlowReadQueue>,
    _slot: OwnedSemaphorePermit,
    start: Instant,
}

impl Drop for SlowReadPermit {
    fn drop(&mut self) {
        self.slow_reads.record(self.start.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(time: Duration) -> Instant {
        Instant::now() + time
    }

    #[tokio::test]
    async fn a_full_queue_refuses_reads() {
        let slow_reads = SlowReadQueue::with_slots(2);
        let first = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        let _second = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..2 * WAITING_PER_SLOT {
            let slow_reads = Arc::clone(&slow_reads);
            waiting.push(tokio::spawn(async move {
                slow_reads.take(within(Duration::from_secs(60))).await.is_ok()
            }));
        }
        while slow_reads.waiting.load(Ordering::Relaxed) < 2 * WAITING_PER_SLOT {
            tokio::task::yield_now().await;
        }
        assert!(matches!(slow_reads.take(within(Duration::from_secs(60))).await, Err(ResolveError::Busy)));
        drop(first);
        for waiting in waiting {
            assert!(waiting.await.unwrap(), "every waiting read runs");
        }
        assert_eq!(slow_reads.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_read_that_would_miss_its_deadline_is_refused() {
        let slow_reads = SlowReadQueue::with_slots(1);
        let running = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        slow_reads.average.store(1_000_000, Ordering::Relaxed);
        let start = Instant::now();
        assert!(matches!(
            slow_reads.take(within(Duration::from_millis(2900))).await,
            Err(ResolveError::Busy)
        ));
        assert!(start.elapsed() < Duration::from_secs(1), "immediately");
        let patient =
            tokio::time::timeout(Duration::from_millis(20), slow_reads.take(within(Duration::from_secs(60))));
        assert!(patient.await.is_err(), "this one waits");
        assert!(matches!(slow_reads.take(within(Duration::ZERO)).await, Err(ResolveError::Busy)));
        drop(running);
        // A free slot is granted without an estimate.
        assert!(slow_reads.take(within(Duration::ZERO)).await.is_ok());
    }

    #[test]
    fn the_average_follows_new_measurements() {
        let slow_reads = SlowReadQueue::with_slots(4);
        for _ in 0..100 {
            slow_reads.record(Duration::from_millis(80));
        }
        let expected = slow_reads.expected(3);
        assert!((230..250).contains(&expected.as_millis()), "{expected:?}");
    }
}
