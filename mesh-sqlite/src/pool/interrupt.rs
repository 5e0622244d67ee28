//! The budget of reads and writes in steps and time, checked while SQLite runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// Steps of SQLite's virtual machine between two checks of the budget, some ten microseconds.
const STEPS_PER_CHECK: i32 = 1_000;

/// Decides when the running statement of a connection has to stop.
#[derive(Debug)]
pub(crate) struct Interrupt {
    start: Instant,
    /// Counts the connection's reads.
    read: AtomicU64,
    /// The deadline of the current read, in nanoseconds after `start`. With 0, it is `time` after the first check.
    deadline: AtomicU64,
    /// The time limit that starts at the first check, in nanoseconds.
    time: AtomicU64,
    /// The checks that the current read has left; `u32::MAX` means no limit.
    checks: AtomicU32,
    /// The number of the read that was cancelled.
    cancelled: AtomicU64,
}

/// The limits of a read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    Unlimited,
    /// A number of checks, each after the same number of steps, and a time limit that starts at the first check. Most
    /// reads end before that, without reading the clock.
    Steps {
        checks: u32,
        time: Duration,
    },
    /// A deadline.
    Until(Instant),
}

impl Interrupt {
    /// Creates the interrupt of a connection, without a limit.
    pub(crate) fn new(connection: &mut Connection) -> rusqlite::Result<Arc<Self>> {
        let interrupt = Arc::new(Self {
            start: Instant::now(),
            read: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            time: AtomicU64::new(0),
            checks: AtomicU32::new(u32::MAX),
            cancelled: AtomicU64::new(u64::MAX),
        });
        let handler = Arc::clone(&interrupt);
        connection.progress_handler(STEPS_PER_CHECK, Some(move || handler.is_past()))?;
        Ok(interrupt)
    }

    /// Sets the budget of the connection's next read.
    pub(crate) fn begin(&self, budget: Budget) {
        let (checks, deadline, time) = match budget {
            Budget::Unlimited => (u32::MAX, u64::MAX, 0),
            Budget::Steps { checks, time } => (checks, 0, nanos(time)),
            Budget::Until(deadline) => {
                (u32::MAX, nanos(deadline.saturating_duration_since(self.start)).max(1), 0)
            }
        };
        self.checks.store(checks, Ordering::Relaxed);
        self.deadline.store(deadline, Ordering::Relaxed);
        self.time.store(time, Ordering::Relaxed);
        self.read.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a check, and returns whether the current read has to stop.
    fn is_past(&self) -> bool {
        // Only the thread that runs the read changes the counter, so load and store need not be one operation.
        match self.checks.load(Ordering::Relaxed) {
            0 => return true,
            u32::MAX => {}
            checks => self.checks.store(checks - 1, Ordering::Relaxed),
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

    /// Returns a guard that interrupts the next read when it is dropped, which happens with the future of a request whose
    /// client has disconnected.
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
