//! Writes that are committed together.
//!
//! A commit waits for the disk and takes most of the work of a write, so writes that arrive during a commit share the
//! next one. A write that fails undoes only itself: SQLite undoes a statement that fails, and a write with several
//! statements that change data has a savepoint. In three cases, all writes of the group are rolled back and each gets
//! its own transaction: a write ends the transaction (an interrupt, `RAISE(ROLLBACK)`), a write fails but keeps some
//! changes (`RAISE(FAIL)`), or the commit fails.

#[cfg(test)]
mod tests;

use std::thread;
use std::time::{Duration, Instant};

use mesh_plan::{ResolveError, WriteError};

use super::WriteConnection;
use super::failure::failed;
use super::queue::{Queue, QueuedWrite, ResultSender, WriteResult};
use crate::pool::interrupt::Budget;

/// The maximum number of writes that are committed together.
const MAX_GROUP_SIZE: usize = 64;
/// The time for which a transaction accepts further writes.
const ACCEPT_TIME: Duration = Duration::from_millis(2);
/// The budget of a write in a shared transaction, while earlier writes of the group wait for the commit: a few
/// milliseconds, like a read on a thread of the runtime. A write that exceeds it gets its own transaction.
const SHARED_BUDGET: Budget =
    Budget { checks: Some(20), time: Some(Duration::from_millis(10)), deadline: None };
/// The shared budget of the replies of a group, while other writes wait: less than a millisecond.
const REPLIES_BUDGET: Budget =
    Budget { checks: Some(10), time: Some(Duration::from_millis(1)), deadline: None };

impl WriteConnection {
    /// Runs a write and the writes that wait behind it in one transaction.
    pub(super) fn run(&mut self, first: QueuedWrite, queue: &Queue) {
        let mut group = vec![(self.begin_with(&first), first)];
        let is_done = match group.first() {
            Some((Ok(_), _)) => self.add_waiting(&mut group, queue) && self.commit_all(&mut group),
            // The write has failed and is rolled back.
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

    /// Reads the replies of writes in one snapshot. Most pages that the replies need are still in the cache of this
    /// connection, while every commit empties the caches of other connections. A reply that takes long is left to a
    /// connection for reads.
    fn read_replies(&mut self, group: &mut [(WriteResult, QueuedWrite)]) {
        self.reader.interrupt.begin(REPLIES_BUDGET);
        if self.execute("BEGIN").is_err() {
            return;
        }
        for (written, waiting) in group {
            if let Ok(written) = written {
                written.body = self.read_reply(&waiting.mutation, &written.id);
            }
        }
        self.rollback();
    }

    /// Runs a write in a transaction of its own.
    fn run_alone(&mut self, waiting: &QueuedWrite) -> WriteResult {
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
    fn begin_with(&mut self, waiting: &QueuedWrite) -> WriteResult {
        self.begin(waiting.deadline)?;
        let written = self.run_steps(&waiting.mutation)?;
        if Instant::now() >= waiting.deadline {
            return Err(ResolveError::TimedOut.into());
        }
        Ok(written)
    }

    /// Adds waiting writes to the transaction. Returns `false` if the transaction has ended.
    fn add_waiting(&self, group: &mut Vec<(WriteResult, QueuedWrite)>, queue: &Queue) -> bool {
        let begun = Instant::now();
        while group.len() < MAX_GROUP_SIZE
            && begun.elapsed() < ACCEPT_TIME
            && let Some(next) = next_write(queue)
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

    /// Adds a write to the transaction. Returns `None` if the transaction has ended or has to end.
    fn add(&self, waiting: &QueuedWrite) -> Option<WriteResult> {
        let connection = &self.reader.connection;
        self.reader.interrupt.begin(SHARED_BUDGET);
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

    /// Commits the transaction of a group. Returns `false` if the commit failed and the group has several writes, any
    /// of which may be the cause.
    fn commit_all(&self, group: &mut [(WriteResult, QueuedWrite)]) -> bool {
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

/// Returns the next write that waits. If none does, threads that are ready to run get the core first: the writes that
/// they bring share the commit, which takes longer than switching threads.
fn next_write(queue: &Queue) -> Option<QueuedWrite> {
    queue.next_write().or_else(|| {
        thread::yield_now();
        queue.next_write()
    })
}

fn busy() -> WriteError {
    ResolveError::Busy.into()
}
