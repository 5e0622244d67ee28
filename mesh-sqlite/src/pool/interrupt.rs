//! The budget of a read in steps and time, checked while SQLite runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Tells a running statement when to stop.
pub(crate) struct Interrupt {
    start: Instant,
    /// Counts the connection's reads.
    read: AtomicU64,
    /// When the current read has to end, in nanoseconds after `start`; 0: [`Budget::time`] after the first look.
    deadline: AtomicU64,
    /// What the first look allows from then on, in nanoseconds.
    time: AtomicU64,
    /// Looks at the clock that the current read has left; `u32::MAX` never ends.
    looks: AtomicU32,
    /// The read whose result nobody waits for any more.
    cancelled: AtomicU64,
}

/// How much a read may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    /// So many looks at the clock, each after the same number of steps, and so long after the first of them. The
    /// clock is not read before, since most reads end before it.
    Steps { looks: u32, time: Duration },
    /// Until then.
    Until(Instant),
}

impl Interrupt {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            read: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            time: AtomicU64::new(0),
            looks: AtomicU32::new(u32::MAX),
            cancelled: AtomicU64::new(u64::MAX),
        }
    }

    /// Sets the budget of the connection's next read.
    pub(crate) fn begin(&self, budget: Budget) {
        let (looks, deadline, time) = match budget {
            Budget::Steps { looks, time } => (looks, 0, nanos(time)),
            Budget::Until(deadline) => {
                (u32::MAX, nanos(deadline.saturating_duration_since(self.start)).max(1), 0)
            }
        };
        self.looks.store(looks, Ordering::Relaxed);
        self.deadline.store(deadline, Ordering::Relaxed);
        self.time.store(time, Ordering::Relaxed);
        self.read.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the current read has to stop.
    pub(crate) fn is_past(&self) -> bool {
        // Only the thread that runs the read counts, so nothing is lost between load and store.
        match self.looks.load(Ordering::Relaxed) {
            0 => return true,
            u32::MAX => {}
            looks => self.looks.store(looks - 1, Ordering::Relaxed),
        }
        let now = nanos(self.start.elapsed());
        let deadline = match self.deadline.load(Ordering::Relaxed) {
            0 => {
                let deadline = now.saturating_add(self.time.load(Ordering::Relaxed)).max(1);
                self.deadline.store(deadline, Ordering::Relaxed);
                deadline
            }
            deadline => deadline,
        };
        self.cancelled.load(Ordering::Relaxed) == self.read.load(Ordering::Relaxed) || now >= deadline
    }

    /// Something that interrupts the next read when it is dropped, as the read's own future is when its client
    /// goes away.
    pub(crate) fn cancel_on_drop(self: &Arc<Self>) -> CancelOnDrop {
        CancelOnDrop { read: self.read.load(Ordering::Relaxed) + 1, interrupt: Arc::clone(self) }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Interrupts one read when dropped; see [`Interrupt::cancel_on_drop`]. Dropped after the read, it does nothing.
pub(crate) struct CancelOnDrop {
    interrupt: Arc<Interrupt>,
    read: u64,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.interrupt.cancelled.store(self.read, Ordering::Relaxed);
    }
}
