//! Writes that are committed together, each with its reply.
//!
//! A commit waits for the disk and takes most of the work of a write, so writes that arrive during a commit share the
//! next one. The reply of a write is read before the commit, so that a failure undoes the write (`SPEC §23`). A write that fails
//! undoes only itself: SQLite undoes a statement that fails, and a write with a reply or with several statements that
//! change data has a savepoint. A write or a reply that takes long is undone, and run alone after the group. In four cases, all
//! writes of the group are rolled back and each gets its own transaction: a write ends the transaction (an interrupt,
//! `RAISE(ROLLBACK)`), a write fails but keeps some changes (`RAISE(FAIL)`), a write may no longer be committed, or the
//! commit fails.

#[cfg(test)]
mod tests;

use std::thread;
use std::time::{Duration, Instant};

use mesh_plan::{Mutation, ResolveError, WriteError, Written};

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
const SHARED_BUDGET: Budget = Budget::light();
/// What became of a write in a shared transaction.
enum Added {
    /// It is part of the transaction, or has failed and is undone.
    Done(WriteResult),
    /// It takes long and is undone.
    Slow,
    /// The transaction has ended, or has to end.
    Ended,
}

impl WriteConnection {
    /// Runs a write and the writes that wait behind it in one transaction.
    pub(super) fn run(&mut self, first: QueuedWrite, queue: &Queue) {
        let mut group = vec![(self.begin_with(&first), first)];
        let mut alone = Vec::new();
        let is_done = match group.first() {
            Some((Ok(_), _)) => {
                self.add_waiting(&mut group, &mut alone, queue) && self.commit_all(&mut group)
            }
            // The write has failed and is rolled back.
            _ => true,
        };
        self.rollback();
        if is_done {
            let results = group.into_iter().map(|(written, waiting)| (waiting.done, written));
            ResultSender::send_all(results.collect());
        } else {
            let group = group.into_iter().map(|(_, waiting)| waiting);
            alone = group.chain(alone).collect();
        }
        for waiting in alone {
            let written = self.run_alone(&waiting);
            ResultSender::send_all(vec![(waiting.done, written)]);
        }
    }

    /// Runs a write in a transaction of its own.
    fn run_alone(&mut self, waiting: &QueuedWrite) -> WriteResult {
        let written = self.begin_with(waiting).and_then(|written| {
            if !waiting.gate.begin() {
                return Err(ResolveError::TimedOut.into());
            }
            self.execute("COMMIT").map_err(|error| {
                waiting.gate.reopen();
                failed(error, &waiting.mutation, &self.reader.connection)
            })?;
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
        let written = self.with_reply(&waiting.mutation, written)?;
        if Instant::now() >= waiting.deadline {
            return Err(ResolveError::TimedOut.into());
        }
        Ok(written)
    }

    /// Adds waiting writes to the transaction, and those that take long to `alone`. Returns `false` if the transaction has
    /// ended.
    fn add_waiting(
        &mut self,
        group: &mut Vec<(WriteResult, QueuedWrite)>,
        alone: &mut Vec<QueuedWrite>,
        queue: &Queue,
    ) -> bool {
        let begun = Instant::now();
        while group.len() < MAX_GROUP_SIZE
            && begun.elapsed() < ACCEPT_TIME
            && let Some(next) = next_write(queue)
        {
            let is_late = Instant::now() >= next.deadline;
            match if is_late { Added::Done(Err(busy())) } else { self.add(&next) } {
                Added::Done(written) => group.push((written, next)),
                Added::Slow => alone.push(next),
                Added::Ended => {
                    group.push((Err(busy()), next));
                    return false;
                }
            }
        }
        true
    }

    /// Adds a write to the transaction.
    fn add(&mut self, waiting: &QueuedWrite) -> Added {
        self.reader.interrupt.begin(SHARED_BUDGET);
        let steps = self.steps(&waiting.mutation);
        let has_savepoint =
            waiting.mutation.has_reply() || steps.iter().rev().skip(1).any(|step| !step.is_read());
        if has_savepoint && self.execute("SAVEPOINT one").is_err() {
            return Added::Ended;
        }
        let before = self.reader.connection.total_changes();
        let written = self.run_each(&waiting.mutation, &steps);
        let written = written.and_then(|written| self.with_reply(&waiting.mutation, written));
        let took_long = matches!(written, Err(WriteError::Failed(ResolveError::TimedOut)));
        if self.reader.connection.is_autocommit() {
            return Added::Ended;
        }
        if has_savepoint {
            self.reader.interrupt.begin(Budget::default());
            let undone = if written.is_err() { self.execute("ROLLBACK TO one") } else { Ok(()) };
            if undone.and_then(|()| self.execute("RELEASE one")).is_err() {
                return Added::Ended;
            }
            return if took_long { Added::Slow } else { Added::Done(written) };
        }
        let keeps_changes = written.is_err() && self.reader.connection.total_changes() != before;
        if took_long || keeps_changes { Added::Ended } else { Added::Done(written) }
    }

    /// Reads the reply of a write in its transaction.
    fn with_reply(&mut self, mutation: &Mutation, written: Written) -> WriteResult {
        let body = self.read_reply(mutation, &written.id)?;
        Ok(Written { body, ..written })
    }

    /// Commits the transaction of a group. Returns `false` if a write may no longer be committed, or if the commit failed and
    /// the group has several writes, any of which may be the cause.
    fn commit_all(&self, group: &mut [(WriteResult, QueuedWrite)]) -> bool {
        self.reader.interrupt.begin(Budget::default());
        let gates = || group.iter().filter(|(written, _)| written.is_ok()).map(|(_, waiting)| &waiting.gate);
        let closed = gates().position(|gate| !gate.begin());
        if let Some(begun) = closed {
            gates().take(begun).for_each(|gate| gate.reopen());
            return false;
        }
        let Err(error) = self.execute("COMMIT") else { return true };
        gates().for_each(|gate| gate.reopen());
        match group {
            [(written, waiting)] => {
                *written = Err(failed(error, &waiting.mutation, &self.reader.connection));
                true
            }
            _ => false,
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
