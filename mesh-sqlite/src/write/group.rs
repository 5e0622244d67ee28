//! Scripts that are committed together.
//!
//! A commit waits for the disk and takes most of the work of a write, so scripts that arrive during a commit share the
//! next one. Each runs in a savepoint, so one that fails undoes only itself. A script that takes long is undone, and run alone
//! after the group. In three cases, all changes of the group are rolled back and each script gets its own transaction: one of them
//! ends the transaction (an interrupt, `RAISE(ROLLBACK)`), one may no longer be committed, or the commit fails.

#[cfg(test)]
mod tests;

use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use mesh_backend::transaction::{Failure, Retry, Transaction as _, run_script};
use mesh_plan::ResolveError;
use mesh_plan::backend::{ScriptError, StepResult};

use super::connection::WriteConnection;
use super::job::{Job, ScriptResult};
use crate::pool::interrupt::Budget;

/// The maximum number of scripts that are committed together.
const MAX_GROUP_SIZE: usize = 64;
/// The time for which a transaction accepts further scripts.
const ACCEPT_TIME: Duration = Duration::from_millis(2);

impl WriteConnection {
    /// Runs a script and those that wait behind it in one transaction.
    pub(super) fn run_group(&mut self, first: Job, waiting: &Receiver<Job>) {
        if !first.begin() {
            return;
        }
        if let Err(error) = self.begin_transaction(first.deadline) {
            return Job::send_all(vec![(first, Err(error.into()))]);
        }
        let begun = Instant::now();
        let (mut group, mut alone) = (Vec::new(), Vec::new());
        let mut next = Some((Budget::until(first.deadline), first));
        while let Some((budget, job)) = next.take() {
            match self.run_in_savepoint(&job, budget) {
                Err(failure) if failure.retry != Retry::Never && !self.has_ended() => {
                    alone.push((job, Err(failure.error)));
                }
                result => group.push((job, result.map_err(|failure| failure.error))),
            }
            if !self.has_ended() && group.len() < MAX_GROUP_SIZE && begun.elapsed() < ACCEPT_TIME {
                // The scripts before it wait for the commit.
                next = next_job(waiting).map(|job| (Budget::light(), job));
            }
        }
        if !self.has_ended() && self.commit_all(&group) {
            Job::send_all(std::mem::take(&mut group));
        }
        self.rollback_transaction();
        for (job, result) in group.into_iter().chain(alone) {
            let result = if result.is_err() && job.is_late() { result } else { self.run_alone(&job) };
            Job::send_all(vec![(job, result)]);
        }
    }

    /// Runs a script in a transaction of its own.
    fn run_alone(&mut self, job: &Job) -> ScriptResult {
        let mut result = self.run_in_transaction(job);
        if result.is_err() && self.has_ended() && !job.is_late() {
            // If a statement that creates several records has ended the transaction, its error does not name the cause.
            self.creates_many = false;
            result = self.run_in_transaction(job);
            self.creates_many = true;
        }
        let result = result.and_then(|done| {
            if !job.gate.begin() {
                return Err(ResolveError::TimedOut.into());
            }
            self.command("COMMIT").map_err(|error| {
                job.gate.reopen();
                self.commit_failed(&error, &done)
            })?;
            Ok(done)
        });
        self.rollback_transaction();
        result
    }

    /// Begins a transaction and runs a script in it.
    fn run_in_transaction(&mut self, job: &Job) -> ScriptResult {
        self.begin_transaction(job.deadline)?;
        self.run_in_savepoint(job, Budget::until(job.deadline)).map_err(|failure| failure.error)
    }

    /// Runs a script in a savepoint of the open transaction.
    fn run_in_savepoint(
        &mut self,
        job: &Job,
        budget: Budget,
    ) -> Result<Vec<StepResult>, Failure<ScriptError>> {
        let running = async {
            self.reader.interrupt.begin(budget);
            let mut result = run_script(self, &*job.script).await;
            if result.is_ok() && job.is_late() {
                result = Err(ScriptError::from(ResolveError::TimedOut).into());
            }
            self.reader.interrupt.begin(Budget::default());
            if result.is_ok()
                && let Err(error) = self.commit().await
            {
                result = Err(ScriptError::from(ResolveError::new(error)).into());
            }
            if result.is_err() {
                self.rollback().await;
            }
            result
        };
        // Statements of SQLite block, so the future is ready.
        let failed = || ScriptError::from(ResolveError::new("a write was not completed"));
        running.now_or_never().unwrap_or_else(|| Err(failed().into()))
    }

    /// Commits the transaction of a group. Returns `false` if a script may no longer be committed, or if the commit failed, of
    /// which any script may be the cause.
    fn commit_all(&self, group: &[(Job, ScriptResult)]) -> bool {
        let gates = || group.iter().filter(|(_, result)| result.is_ok()).map(|(job, _)| &job.gate);
        let begun = gates().take_while(|gate| gate.begin()).count();
        let is_committed = begun == gates().count() && self.command("COMMIT").is_ok();
        if !is_committed {
            gates().take(begun).for_each(|gate| gate.reopen());
        }
        is_committed
    }
}

/// Returns the next script that waits. If none does, threads that are ready to run get the core first: the scripts that
/// they bring share the commit, which takes longer than switching threads.
fn next_job(waiting: &Receiver<Job>) -> Option<Job> {
    let next = || waiting.try_iter().find(Job::begin);
    next().or_else(|| {
        thread::yield_now();
        next()
    })
}
