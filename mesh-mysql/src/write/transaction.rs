//! Transactions: their attempts, and what became of them. `SPEC §23.2`

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mesh_plan::backend::{Attempts, CommitAnswer, Failure, Script, ScriptError, StepResult};
use mesh_plan::{Context, Outcome, ResolveError};
use mysql_async::Error;

use super::Writer;
use super::failure::{commit_failure, failure_by, resolve_error};
use crate::pool::{Lease, code, is_one_of};
use crate::settings::DEFAULT_TIMEOUT;

/// The maximum delay before the second attempt.
const PAUSE: Duration = Duration::from_millis(4);

impl Writer {
    /// Runs a script in a transaction, and again if that conflicts with others.
    pub(super) async fn run_script(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Outcome<Vec<StepResult>, ScriptError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let mut attempts = Attempts::default();
        loop {
            let attempt = self.attempt(&*script, attempts.is_stale);
            let failure = match tokio::time::timeout_at(deadline.into(), attempt).await {
                // The connection is closed with its transaction.
                Err(_) => Failure::Final(ResolveError::TimedOut.into()),
                Ok(Err(failure)) => failure,
                Ok(Ok((_, done))) if self.discards => return Outcome::Committed(done),
                Ok(Ok(_)) if !context.begin_commit() => Failure::Final(ResolveError::Busy.into()),
                Ok(Ok((link, done))) => match commit(link, &context).await {
                    CommitAnswer::Committed(()) => return Outcome::Committed(done),
                    CommitAnswer::Refused(error) => {
                        context.commit_refused();
                        commit_failure(&error, &done)
                    }
                    CommitAnswer::Missing(cause) => return Outcome::Unknown(cause),
                },
            };
            if let Some(outcome) = attempts.again(failure) {
                return outcome;
            }
            tokio::time::sleep(pause(attempts.failed())).await;
        }
    }

    /// Runs a script in a transaction, which stays open if it succeeds. A writer that discards its writes rolls back.
    async fn attempt(
        &self,
        script: &dyn Script,
        is_stale: bool,
    ) -> Result<(Lease, Vec<StepResult>), Failure<ScriptError>> {
        let link = self.pool.take(is_stale).await;
        let mut link = link.map_err(|error| Failure::Final(ResolveError::from(error).into()))?;
        let begun = link.begin("START TRANSACTION").await;
        begun.map_err(|error| failure_by(&error, resolve_error(&error).into()))?;
        let ran = self.run_all(&mut link, script).await;
        // If a statement is still running or this fails, the connection is closed with its transaction.
        if (ran.is_err() || self.discards) && !link.is_running() {
            let _ = link.end("ROLLBACK").await;
        }
        Ok((link, ran?))
    }
}

/// Returns the delay before another attempt: up to some milliseconds, and different for transactions that conflict with
/// each other.
fn pause(failed: u32) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    PAUSE.saturating_mul(failed).mul_f64(f64::from(now.subsec_nanos() % 100) / 100.0)
}

/// Commits a transaction. Neither the end of the wait nor dropping this future cancels the COMMIT, because its outcome
/// would then be known to no one. The connection keeps its place in the pool until the answer arrives.
async fn commit(mut link: Lease, context: &Context) -> CommitAnswer<(), Error> {
    let committing = tokio::spawn(async move { link.end("COMMIT").await });
    let wait = context.commit_timeout.unwrap_or(DEFAULT_TIMEOUT);
    match tokio::time::timeout(wait, committing).await {
        Ok(Ok(Ok(()))) => CommitAnswer::Committed(()),
        Ok(Ok(Err(error))) if is_refusal(&error) => CommitAnswer::Refused(error),
        Ok(Ok(Err(error))) => CommitAnswer::Missing(error.into()),
        Ok(Err(stopped)) => CommitAnswer::Missing(stopped.into()),
        Err(_) => CommitAnswer::Missing("the database has not answered COMMIT in time".into()),
    }
}

/// Returns whether an error of COMMIT means that the transaction is rolled back.
fn is_refusal(error: &Error) -> bool {
    /// The server has ended the connection or the statement, or has lost its cluster, possibly after the transaction was
    /// committed.
    const INTERRUPTED: [u16; 5] =
        [code::NOT_READY, code::SHUTDOWN, code::KILLED, code::INTERRUPTED, code::STATEMENT_TIMEOUT];
    matches!(error, Error::Server(_)) && !is_one_of(error, &INTERRUPTED)
}
