//! The budget of reads and writes in steps and time, checked while SQLite runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, ffi};

use super::slow_read_thread;

/// Steps of SQLite's virtual machine between two checks of the budget, about ten microseconds.
const STEPS_PER_CHECK: i32 = 1_000;

/// The limits of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    /// The maximum number of checks. The number of steps between two checks is constant.
    pub(crate) checks: Option<u32>,
    /// A time limit that starts at the first check. Most reads end before that, without reading the clock.
    pub(crate) time: Option<Duration>,
    pub(crate) deadline: Option<Instant>,
}

impl Budget {
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }
}

/// Decides when the running statement of a connection has to stop.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    state: Mutex<RunState>,
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
            slow_read_thread::count_check();
            handler.state.lock().is_over()
        };
        connection.progress_handler(STEPS_PER_CHECK, Some(is_over))?;
        Ok(interrupt)
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

    /// Returns the number of checks of the current run.
    pub(crate) fn check_count(&self) -> u32 {
        self.state.lock().check_count
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
        let now = Instant::now();
        if let Some(time) = budget.time.take() {
            budget.deadline = Some(now + time);
        }
        budget.deadline.is_some_and(|deadline| now >= deadline) || self.cancelled == Some(self.run)
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
