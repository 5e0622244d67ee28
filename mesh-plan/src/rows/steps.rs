//! The deadline of work on rows in memory.

use std::cell::Cell;
use std::time::Instant;

use crate::ResolveError;

/// Steps between two looks at the clock, most of which take less than a microsecond.
const STEPS_PER_CHECK: u32 = 1_024;

/// Counts the steps of one evaluation, and ends it at the deadline.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    deadline: Option<Instant>,
    count: Cell<u32>,
}

impl Steps {
    pub(crate) fn new(deadline: Option<Instant>) -> Self {
        Self { deadline, count: Cell::new(0) }
    }

    /// Counts a step: the work on one row.
    pub(crate) fn step(&self) -> Result<(), ResolveError> {
        let count = self.count.get().wrapping_add(1);
        self.count.set(count);
        if count.is_multiple_of(STEPS_PER_CHECK) { self.check() } else { Ok(()) }
    }

    /// Fails if the deadline has passed.
    pub(crate) fn check(&self) -> Result<(), ResolveError> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(ResolveError::TimedOut),
            _ => Ok(()),
        }
    }
}
