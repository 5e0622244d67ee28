//! The deadline of work on rows in memory.

use std::cell::Cell;
use std::time::Instant;

use crate::ResolveError;

/// The number of steps between two readings of the clock. Most steps take less than a microsecond, but one that compares a
/// long text with many patterns can take a millisecond.
const STEPS_PER_CHECK: u32 = 32;

/// Counts the steps of one evaluation, and ends it at the deadline.
#[derive(Debug, Default)]
pub(crate) struct StepCounter {
    deadline: Option<Instant>,
    count: Cell<u32>,
}

impl StepCounter {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_has_passed_is_noticed_after_few_steps() {
        let steps = StepCounter::new(Some(Instant::now()));
        assert!((0..STEPS_PER_CHECK).any(|_| steps.step().is_err()));
        let steps = StepCounter::default();
        assert!((0..2 * STEPS_PER_CHECK).all(|_| steps.step().is_ok()));
    }
}
