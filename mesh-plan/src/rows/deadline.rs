//! The deadline of work on rows in memory.

use std::cell::Cell;
use std::time::Instant;

use crate::ResolveError;

/// The number of rows between two readings of the clock. Most rows take less than a microsecond, but one whose long text is
/// compared with many patterns can take a millisecond.
const ROWS_PER_CHECK: u32 = 32;

/// Counts the rows of one evaluation, and ends it at the deadline.
#[derive(Debug, Default)]
pub(crate) struct DeadlineCheck {
    deadline: Option<Instant>,
    count: Cell<u32>,
}

impl DeadlineCheck {
    pub(crate) fn new(deadline: Option<Instant>) -> Self {
        Self { deadline, count: Cell::new(0) }
    }

    /// Counts a row, and reads the clock now and then.
    pub(crate) fn count_row(&self) -> Result<(), ResolveError> {
        let count = self.count.get().wrapping_add(1);
        self.count.set(count);
        if count.is_multiple_of(ROWS_PER_CHECK) { self.check() } else { Ok(()) }
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
    fn a_deadline_that_has_passed_is_noticed_after_few_rows() {
        let deadline = DeadlineCheck::new(Some(Instant::now()));
        assert!((0..ROWS_PER_CHECK).any(|_| deadline.count_row().is_err()));
        let deadline = DeadlineCheck::default();
        assert!((0..2 * ROWS_PER_CHECK).all(|_| deadline.count_row().is_ok()));
    }
}
