//! Transactions: their attempts, and what became of them. `SPEC §23.2`

use std::sync::Arc;
use std::time::Instant;

use mesh_plan::backend::{Attempts, CommitAnswer, Failure, Script, ScriptError, StepResult};
use mesh_plan::{Context, Outcome, ResolveError};
use tokio_postgres::Error;
use tokio_postgres::error::Severity;

use super::Writer;
use super::failure::commit_failure;
use crate::pool::Lease;
use crate::settings::DEFAULT_TIMEOUT;

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
                    CommitAnswer::Committed(link) => {
                        self.wait_for_other_servers(link).await;
                        return Outcome::Committed(done);
                    }
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
        }
    }

    /// Runs a script in a transaction, which stays open if it succeeds. A writer that discards its writes checks deferred
    /// constraints and rolls back.
    async fn attempt(
        &self,
        script: &dyn Script,
        is_stale: bool,
    ) -> Result<(Lease, Vec<StepResult>), Failure<ScriptError>> {
        let link = self.pool.take(is_stale).await;
        let link = link.map_err(|error| Failure::Final(ResolveError::from(error).into()))?;
        let ran = match self.run_all(&link, script).await {
            Ok(done) if self.discards => match link.execute("SET CONSTRAINTS ALL IMMEDIATE").await {
                Ok(()) => Ok(done),
                Err(error) => Err(commit_failure(&error, &done)),
            },
            ran => ran,
        };
        // If a statement is still running or this fails, the connection is closed with its transaction.
        if (ran.is_err() || self.discards) && !link.is_running() {
            let _ = link.end("ROLLBACK").await;
        }
        Ok((link, ran?))
    }

    /// Waits until reads on other servers see a committed write, or those servers know that they may read older data.
    async fn wait_for_other_servers(&self, link: Lease) {
        let announced = self.other_servers.announce_write(&link).await;
        drop(link);
        if let Some(settled_at) = self.pool.hosts().settled_at() {
            tokio::time::sleep_until(settled_at.into()).await;
        }
        if let Some((announcement, others)) = announced {
            announcement.wait_for_acknowledgements(others).await;
        }
    }
}

/// Commits a transaction. Neither the end of the wait nor dropping this future cancels the COMMIT, because PostgreSQL
/// would then stop waiting for a synchronous standby. The connection keeps its place in the pool until the answer arrives.
async fn commit(link: Lease, context: &Context) -> CommitAnswer<Lease, Error> {
    let committing = tokio::spawn(async move {
        let ended = link.end("COMMIT").await;
        (link, ended)
    });
    let wait = context.commit_timeout.unwrap_or(DEFAULT_TIMEOUT);
    match tokio::time::timeout(wait, committing).await {
        Ok(Ok((link, Ok(())))) => CommitAnswer::Committed(link),
        Ok(Ok((_, Err(error)))) if is_refusal(&error) => CommitAnswer::Refused(error),
        Ok(Ok((_, Err(error)))) => CommitAnswer::Missing(error.into()),
        Ok(Err(stopped)) => CommitAnswer::Missing(stopped.into()),
        Err(_) => CommitAnswer::Missing("the database has not answered COMMIT in time".into()),
    }
}

/// Returns whether an error of COMMIT means that the transaction is rolled back. A connection that PostgreSQL ends may have
/// been waiting for a standby, after the transaction was committed.
fn is_refusal(error: &Error) -> bool {
    error.as_db_error().is_some_and(|cause| cause.parsed_severity() == Some(Severity::Error))
}
