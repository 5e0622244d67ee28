//! The queue of slow reads: a few run at a time, and some more wait for a slot.

use std::sync::Arc;
use std::time::Instant;

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

/// The slots for slow reads, and the queue for them.
pub(crate) struct SlowReadQueue {
    free: Arc<Semaphore>,
    slots: usize,
    /// The free places for reads that wait.
    places: Semaphore,
    waits: WaitCounter,
}

impl SlowReadQueue {
    /// Creates a queue with a number of slots that fits this machine.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::with_slots(cores.saturating_mul(PER_CORE).max(MIN_SLOTS))
    }

    fn with_slots(slots: usize) -> Self {
        let (free, places) = (Arc::new(Semaphore::new(slots)), Semaphore::new(slots * WAITING_PER_SLOT));
        Self { free, slots, places, waits: WaitCounter::default() }
    }

    /// Waits for a slot, for at most half of the time until the deadline: a read that gets a slot shortly before its
    /// deadline would be interrupted, and would have kept the slot from others.
    ///
    /// # Errors
    /// [`ResolveError::Busy`] without a slot; immediately if too many reads wait.
    pub(crate) async fn take(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, ResolveError> {
        if let Ok(slot) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(slot);
        }
        let Ok(_place) = self.places.try_acquire() else { return Err(ResolveError::Busy) };
        let start = Instant::now();
        let patience = deadline.saturating_duration_since(start) / 2;
        let slot = tokio::time::timeout(patience, Arc::clone(&self.free).acquire_owned()).await;
        self.waits.record(start.elapsed());
        slot.ok().and_then(Result::ok).ok_or(ResolveError::Busy)
    }

    /// Waits until all running reads have ended. Reads that begin afterwards wait until the returned permit is dropped.
    pub(crate) async fn pause(&self) -> Option<OwnedSemaphorePermit> {
        let slots = u32::try_from(self.slots).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        Arc::clone(&self.free).acquire_many_owned(slots).await.ok()
    }

    /// Adds the numbers of slots and waits to usage figures.
    pub(crate) fn add_usage(&self, usage: &mut Usage) {
        usage.slots = self.slots;
        usage.free = self.free.available_permits();
        usage.waits = self.waits.count();
        usage.waited = self.waits.total();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn within(time: Duration) -> Instant {
        Instant::now() + time
    }

    #[tokio::test]
    async fn a_full_queue_refuses_reads() {
        let slow_reads = Arc::new(SlowReadQueue::with_slots(2));
        let first = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        let _second = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..2 * WAITING_PER_SLOT {
            let slow_reads = Arc::clone(&slow_reads);
            waiting.push(tokio::spawn(async move {
                slow_reads.take(within(Duration::from_secs(60))).await.is_ok()
            }));
        }
        while slow_reads.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(matches!(slow_reads.take(within(Duration::from_secs(60))).await, Err(ResolveError::Busy)));
        drop(first);
        for waiting in waiting {
            assert!(waiting.await.unwrap(), "every waiting read runs");
        }
        assert_eq!(slow_reads.places.available_permits(), 2 * WAITING_PER_SLOT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_waits_for_at_most_half_of_its_time() {
        let slow_reads = SlowReadQueue::with_slots(1);
        let running = slow_reads.take(within(Duration::from_secs(60))).await.unwrap();
        let start = tokio::time::Instant::now();
        let refused = slow_reads.take(within(Duration::from_secs(60))).await;
        assert!(matches!(refused, Err(ResolveError::Busy)));
        assert!((29..=30).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
        drop(running);
        assert!(slow_reads.take(within(Duration::ZERO)).await.is_ok(), "a free slot needs no time");
    }
}
