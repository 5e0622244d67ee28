//! Writes: one connection, whose transactions have one script or several that waited for it. `SPEC §11`
//!
//! SQLite allows one writer at a time, so a second connection would only block a thread inside SQLite. Writes of this
//! process queue for the connection instead; those of other processes are serialized by SQLite's lock. The file is kept
//! in WAL mode, in which readers and the writer do not block each other.

mod connection;
mod failure;
mod group;
mod job;
pub(crate) mod probe;
#[cfg(test)]
mod tests;
mod transaction;
mod wal;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use mesh_backend::transaction::DEFAULT_TIMEOUT;
use mesh_plan::backend::{Script, ScriptError, StepResult};
use mesh_plan::mutation::Outcome;
use mesh_plan::{BoxFuture, Context, Mutator, ResolveError};
use parking_lot::{Mutex, MutexGuard};

use crate::database::Database;
use crate::error::{OpenError, open_error};
use connection::WriteConnection;
use job::Job;
use wal::LogBound;

/// Writes to a SQLite file. Clones share one connection.
#[derive(Clone)]
pub struct Writer {
    /// The connection, which is closed with the last clone. The thread that runs the jobs does not keep it open.
    connection: Arc<Mutex<WriteConnection>>,
    jobs: mpsc::Sender<Job>,
}

impl Database {
    /// Opens the same file for writing.
    ///
    /// The file is switched to WAL mode, in which readers never wait for a writer, and stays in it when it is closed. If the
    /// switch is not possible, because other processes hold the file or its file system cannot share memory, writes work
    /// too, but readers wait during each commit.
    ///
    /// # Errors
    /// The file or its folder cannot be written.
    pub fn writer(&self) -> Result<Writer, OpenError> {
        let path = &self.path();
        let connection = WriteConnection::open(path, self.file.last().pool.settings.memory_map)
            .map_err(|error| open_error(path, format!("it cannot be written to: {error}")))?;
        let connection = Arc::new(Mutex::new(connection));
        let other = Arc::downgrade(&connection);
        self.file.on_replaced(move || {
            let Some(connection) = other.upgrade() else { return Ok(()) };
            let Some(mut connection) = connection.try_lock() else { return Err("a write is under way") };
            connection.reopen_if_replaced().map_err(|_| "it cannot be written")
        });
        let (jobs, waiting) = mpsc::channel::<Job>();
        let (open, mut log) = (Arc::downgrade(&connection), LogBound::new(path, Arc::clone(&self.file)));
        let run = move || {
            while let Ok(first) = waiting.recv()
                && let Some(connection) = open.upgrade()
            {
                let runtime = first.runtime.clone();
                let run = || {
                    let mut locked = connection.lock();
                    locked.run_group(first, &waiting);
                    // Other users of the connection get it between two transactions.
                    MutexGuard::unlock_fair(locked);
                };
                // The panic is reported to the requests whose writes did not complete.
                let _ = catch_unwind(AssertUnwindSafe(run));
                log.check(&connection, &runtime);
            }
        };
        let started = thread::Builder::new().name("mesh writer".to_owned()).spawn(run);
        started.map_err(|error| open_error(path, error))?;
        Ok(Writer { connection, jobs })
    }
}

impl Writer {
    /// Runs a script in a transaction after all scripts before it. One that is cancelled while it waits is not run.
    ///
    /// It fails with [`ResolveError::Busy`] if it has not begun by its deadline, and with its own errors. If it panics, it may
    /// have been committed.
    async fn run(&self, script: Arc<dyn Script>, context: Context) -> Outcome<Vec<StepResult>, ScriptError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let (job, mut result) = Job::new(script, deadline, context.commit_gate.unwrap_or_default());
        let claim = job.claim();
        // If the thread has ended, there is no result.
        let _ = self.jobs.send(job);
        let result = match tokio::time::timeout_at(deadline.into(), &mut result).await {
            Ok(result) => result,
            Err(_) if claim.take() => return Outcome::NotCommitted(ResolveError::Busy.into()),
            // The job has begun.
            Err(_) => result.await,
        };
        // The runtime has ended, or the script has panicked.
        result.map_or_else(|_| Outcome::unknown("a write panicked"), Outcome::from)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("is_writing", &self.connection.is_locked()).finish_non_exhaustive()
    }
}

impl Mutator for Writer {
    fn transact(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Option<BoxFuture<'_, Outcome<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(self.run(script, context)))
    }
}
