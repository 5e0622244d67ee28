//! The budget of reads and writes in steps and time, checked while SQLite runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, ffi};

/// Steps of SQLite's virtual machine between two checks of the budget, about ten microseconds.
const STEPS_PER_CHECK: i32 = 1_000;
/// Steps of a function between two checks.
const FUNCTION_STEPS_PER_CHECK: usize = 64 * 1_024;
/// The number of checks from which a read is slow.
const LIGHT_CHECKS: u32 = 20;
/// The time from which a read is slow.
const LIGHT_TIME: Duration = Duration::from_millis(10);
/// The number of checks after which a slow read yields to other threads, about 200 microseconds.
const TURN: u32 = 20;

/// The limits of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    /// The maximum number of checks. The number of steps between two checks is constant.
    pub(crate) checks: Option<u32>,
    pub(crate) deadline: Option<Instant>,
    /// Whether the thread yields to others regularly. A thread of low priority that does not yield runs for several
    /// milliseconds while light reads wait, and then waits sixty times as long itself, past its deadline.
    pub(crate) yields: bool,
}

impl Budget {
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Returns the budget of a read on a thread of low priority.
    pub(crate) fn slow(deadline: Instant) -> Self {
        Self { yields: true, ..Self::until(deadline) }
    }

    /// Returns the budget of a read on the calling thread: one or two milliseconds of work, while most reads take a
    /// fraction of that. A read that exceeds it is slow. The budget counts checks between steps of SQLite, because on a
    /// busy machine every read takes long; the time limit only bounds slow steps.
    pub(crate) fn light() -> Self {
        Self { checks: Some(LIGHT_CHECKS), ..Self::until(Instant::now() + LIGHT_TIME) }
    }
}

/// Decides when the running statement of a connection has to stop.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    state: Mutex<RunState>,
    /// The steps of functions since the last check.
    steps: AtomicUsize,
}

#[derive(Debug, Default)]
struct RunState {
    budget: Budget,
    /// The number of checks since the budget was set.
    check_count: u32,
    /// The number of times a budget was set, which identifies the current run.
    run: u64,
    /// The run that was cancelled.
    cancelled: Option<u64>,
}

impl Interrupt {
    /// Creates the interrupt of a connection, without a limit.
    pub(crate) fn new(connection: &mut Connection) -> rusqlite::Result<Arc<Self>> {
        let interrupt = Arc::new(Self::default());
        let handler = Arc::clone(&interrupt);
        let is_over = move || {
            let mut state = handler.state.lock();
            let is_over = state.is_over();
            if state.budget.yields && state.check_count.is_multiple_of(TURN) {
                drop(state);
                thread::yield_now();
            }
            is_over
        };
        connection.progress_handler(STEPS_PER_CHECK, Some(is_over))?;
        Ok(interrupt)
    }

    /// Counts steps of a function that runs inside a statement, each about a nanosecond, since SQLite counts a call as one step,
    /// however long it takes. Fails if the statement has to stop.
    pub(crate) fn spend(&self, steps: usize) -> rusqlite::Result<()> {
        // A connection is used by one thread at a time, so no addition is lost.
        let total = self.steps.load(Ordering::Relaxed).saturating_add(steps);
        let is_due = total >= FUNCTION_STEPS_PER_CHECK;
        self.steps.store(if is_due { 0 } else { total }, Ordering::Relaxed);
        if is_due { self.check() } else { Ok(()) }
    }

    /// Counts a check of a function that runs inside a statement, and fails with SQLite's error for interrupted
    /// statements if the statement has to stop.
    pub(crate) fn check(&self) -> rusqlite::Result<()> {
        if self.state.lock().is_over() {
            // With a message, SQLite would report a general error code instead.
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None));
        }
        Ok(())
    }

    /// Sets the budget of the connection's next run.
    pub(crate) fn begin(&self, budget: Budget) {
        let mut state = self.state.lock();
        state.budget = budget;
        state.check_count = 0;
        state.run += 1;
    }

    /// Returns whether the current run, which took this time, would have ended within [`Budget::light`].
    pub(crate) fn was_light(&self, time: Duration) -> bool {
        self.state.lock().check_count < LIGHT_CHECKS && time < LIGHT_TIME
    }

    /// Returns a guard that interrupts the next run when it is dropped, for example with the future of a request whose
    /// client has disconnected.
    pub(crate) fn cancel_on_drop(self: &Arc<Self>) -> CancelOnDrop {
        CancelOnDrop { run: self.state.lock().run + 1, interrupt: Arc::clone(self) }
    }
}

impl RunState {
    /// Counts a check, and returns whether the current run has to stop.
    fn is_over(&mut self) -> bool {
        self.check_count = self.check_count.saturating_add(1);
        let budget = &mut self.budget;
        if let Some(checks) = &mut budget.checks {
            let Some(left) = checks.checked_sub(1) else { return true };
            *checks = left;
        }
        budget.deadline.is_some_and(|deadline| Instant::now() >= deadline) || self.cancelled == Some(self.run)
    }
}

/// A guard that interrupts one run when dropped; see [`Interrupt::cancel_on_drop`]. Dropped after the run, it does
/// nothing.
pub(crate) struct CancelOnDrop {
    interrupt: Arc<Interrupt>,
    run: u64,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.interrupt.state.lock().cancelled = Some(self.run);
    }
}
