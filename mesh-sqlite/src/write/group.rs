//! Writes that are committed together.
//!
//! A commit waits for the disk, and takes most of the work of a write. So the writes that have arrived during a commit share
//! the next one. One that fails undoes only itself: SQLite undoes a statement that fails, and a write with several statements
//! that change something has a savepoint. All of them are rolled back, and each gets a transaction of its own, if one ends the
//! transaction (an interrupt, `RAISE(ROLLBACK)`), if one fails but keeps some changes (`RAISE(FAIL)`), or if the commit fails.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use mesh_plan::{ResolveError, WriteError};

use super::WriteConnection;
use super::failure::failed;
use super::queue::{Queue, ResultSender, Waiting, Written};
use crate::pool::interrupt::Budget;

/// The most writes that are committed together.
const MOST: usize = 64;
/// How long a transaction is open to further writes.
const OPEN: Duration = Duration::from_millis(2);
/// What a write may take while others wait for its end, of which the first ones are done: some milliseconds, as a read on a
/// thread of the runtime. With more to do it gets a transaction of its own.
const SHARED: Budget = Budget { checks: Some(20), time: Some(Duration::from_millis(10)), deadline: None };
/// What the replies of a group may take together, while other writes wait: less than a millisecond.
const REPLIES: Budget = Budget { checks: Some(10), time: Some(Duration::from_millis(1)), deadline: None };

impl WriteConnection {
    /// Runs a write, and those that wait behind it in the same transaction.
    pub(super) fn run(&mut self, first: Waiting, queue: &Queue) {
        let mut group = vec![(self.begin_with(&first), first)];
        let is_done = match group.first() {
            Some((Ok(_), _)) => self.add_waiting(&mut group, queue) && self.commit_all(&mut group),
            // It is rolled back.
            _ => true,
        };
        self.rollback();
        if is_done {
            self.read_replies(&mut group);
            let results = group.into_iter().map(|(written, waiting)| (waiting.done, written));
            return ResultSender::send_all(results.collect());
        }
        for (_, waiting) in group {
            let written = self.run_alone(&waiting);
            ResultSender::send_all(vec![(waiting.done, written)]);
        }
    }

    /// Reads the replies of writes in one snapshot. Most pages that they need are still in the cache of this connection, while
    /// every commit empties those of the others. A reply that takes long is left to a connection for reads.
    fn read_replies(&mut self, group: &mut [(Written, Waiting)]) {
        self.reader.interrupt.begin(REPLIES);
        if self.execute("BEGIN").is_err() {
            return;
        }
        for (written, waiting) in group {
            if let Ok(written) = written {
                written.body = self.read_reply(&waiting.mutation, &written.id).map(Ok);
            }
        }
        self.rollback();
    }

    /// Runs a write in a transaction of its own.
    fn run_alone(&mut self, waiting: &Waiting) -> Written {
        let written = self.begin_with(waiting).and_then(|written| {
            self.execute("COMMIT")
                .map_err(|error| failed(error, &waiting.mutation, &self.reader.connection))?;
            Ok(written)
        });
        if written.is_err() {
            self.rollback();
        }
        written
    }

    /// Begins a transaction with a write.
    fn begin_with(&mut self, waiting: &Waiting) -> Written {
        self.begin(waiting.deadline)?;
        let written = self.run_steps(&waiting.mutation)?;
        if Instant::now() >= waiting.deadline {
            return Err(ResolveError::TimedOut.into());
        }
        Ok(written)
    }

    /// Adds writes that wait to the transaction. Returns `false` if that has ended.
    fn add_waiting(&self, group: &mut Vec<(Written, Waiting)>, queue: &Queue) -> bool {
        let begun = Instant::now();
        while group.len() < MOST
            && begun.elapsed() < OPEN
            && let Some(next) = queue.next_write()
        {
            let written = if Instant::now() < next.deadline { self.add(&next) } else { Some(Err(busy())) };
            let has_ended = written.is_none();
            group.push((written.unwrap_or_else(|| Err(busy())), next));
            if has_ended {
                return false;
            }
        }
        true
    }

    /// Adds a write to the transaction. Returns `None` if that has ended, or has to.
    fn add(&self, waiting: &Waiting) -> Option<Written> {
        let connection = &self.reader.connection;
        self.reader.interrupt.begin(SHARED);
        let steps = self.steps(&waiting.mutation);
        let has_savepoint = steps.iter().rev().skip(1).any(|step| !step.is_read());
        if has_savepoint {
            self.execute("SAVEPOINT one").ok()?;
        }
        let before = connection.total_changes();
        let written = self.run_each(&waiting.mutation, &steps);
        let took_long = matches!(written, Err(WriteError::Failed(ResolveError::TimedOut)));
        if took_long || connection.is_autocommit() {
            return None;
        }
        if has_savepoint {
            if written.is_err() {
                self.execute("ROLLBACK TO one").ok()?;
            }
            self.execute("RELEASE one").ok()?;
        } else if written.is_err() && connection.total_changes() != before {
            return None;
        }
        Some(written)
    }

    /// Commits the transaction of some writes. Returns `false` if that failed and there are several, of which any may be
    /// the cause.
    fn commit_all(&self, group: &mut [(Written, Waiting)]) -> bool {
        self.reader.interrupt.begin(Budget::default());
        match (self.execute("COMMIT"), group) {
            (Ok(()), _) => true,
            (Err(error), [(written, waiting)]) => {
                *written = Err(failed(error, &waiting.mutation, &self.reader.connection));
                true
            }
            (Err(_), _) => false,
        }
    }
}

fn busy() -> WriteError {
    ResolveError::Busy.into()
}
