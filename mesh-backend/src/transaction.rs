//! Transactions over connections: their attempts, and what became of them. `SPEC §23.2`

mod attempts;
mod engine;
mod fault;
mod script;
mod write;
mod writer;

use std::error::Error as StdError;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mesh_plan::backend::{Script, ScriptError, ScriptStep, StepResult};
use mesh_plan::mutation::Outcome;
use mesh_plan::{Context, Mutation, ResolveError, WriteError};

pub use attempts::{Attempts, Failure, Retry};
pub use engine::{Engine, Errors, Ran, Transaction};
pub use fault::{Fault, Violation};
pub use script::run as run_script;
pub use writer::Writer;

/// The time limit of reads and transactions without a deadline, and of the wait for the answer to COMMIT.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum delay before the second attempt.
const PAUSE: Duration = Duration::from_millis(4);

/// What happens to the changes of a transaction whose steps have succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// They are committed.
    Commit,
    /// They are checked and rolled back.
    Discard,
    /// There are none, because the transaction only reads.
    Read,
}

/// The answer to COMMIT.
enum CommitAnswer<C, E> {
    /// The transaction is committed.
    Committed(C),
    /// The engine has refused it and rolled back.
    Refused(E),
    /// The connection was lost, or the engine has not answered in time.
    Missing(Box<dyn StdError + Send + Sync>),
}

/// Runs a script in a transaction, and again if that conflicts with others.
pub async fn run<E: Engine>(
    engine: &E,
    script: &dyn Script,
    context: &Context,
    end: End,
) -> Outcome<Vec<StepResult>, ScriptError> {
    let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
    let mut attempts = Attempts::default();
    loop {
        let attempt = attempt(engine, script, attempts.is_stale, end);
        let failure = match tokio::time::timeout_at(deadline.into(), attempt).await {
            // The connection is closed with its transaction.
            Err(_) => ScriptError::from(ResolveError::TimedOut).into(),
            Ok(Err(failure)) => failure,
            Ok(Ok((_, done))) if end != End::Commit => return Outcome::Committed(done),
            Ok(Ok(_)) if !context.begin_commit() => ScriptError::from(ResolveError::Busy).into(),
            Ok(Ok((transaction, done))) => match commit(transaction, context).await {
                CommitAnswer::Committed(transaction) => {
                    transaction.after_commit().await;
                    return Outcome::Committed(done);
                }
                CommitAnswer::Refused(error) => {
                    context.commit_refused();
                    commit_failure::<E::Transaction>(&error, &done)
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

/// Runs a script of reads in a transaction of an engine that gives each transaction one snapshot.
///
/// # Errors
/// Those of the script and of its reads.
pub async fn read<E: Engine>(
    engine: &E,
    script: &dyn Script,
    context: &Context,
) -> Result<Vec<StepResult>, ScriptError> {
    run(engine, script, context, End::Read).await.into_result()
}

/// Runs a script in a transaction, which stays open if it succeeds and is committed.
async fn attempt<E: Engine>(
    engine: &E,
    script: &dyn Script,
    is_stale: bool,
    end: End,
) -> Result<(E::Transaction, Vec<StepResult>), Failure<ScriptError>> {
    let mut transaction = engine.take(is_stale).await.map_err(ScriptError::from)?;
    let mut ran = script::run(&mut transaction, script).await;
    if let (Ok(done), End::Discard, Some(check)) = (&ran, end, E::Transaction::CHECK_DEFERRED)
        && let Err(error) = transaction.execute(check).await
    {
        ran = Err(commit_failure::<E::Transaction>(&error, done));
    }
    if ran.is_err() || end != End::Commit {
        transaction.rollback().await;
    }
    Ok((transaction, ran?))
}

/// Returns the delay before another attempt: up to some milliseconds, and different for transactions that conflict with
/// each other.
fn pause(failed: u32) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    PAUSE.saturating_mul(failed).mul_f64(f64::from(now.subsec_nanos() % 100) / 100.0)
}

/// Commits a transaction. Neither the end of the wait nor dropping this future cancels the COMMIT, because its outcome
/// would then be known to no one, and the engine would stop waiting for standbys. The connection keeps its place in the pool
/// until the answer arrives.
async fn commit<T: Transaction>(mut transaction: T, context: &Context) -> CommitAnswer<T, T::Error> {
    let committing = tokio::spawn(async move {
        let ended = transaction.commit().await;
        (transaction, ended)
    });
    let wait = context.commit_timeout.unwrap_or(DEFAULT_TIMEOUT);
    match tokio::time::timeout(wait, committing).await {
        Ok(Ok((transaction, Ok(())))) => CommitAnswer::Committed(transaction),
        Ok(Ok((_, Err(error)))) if T::is_refusal(&error) => CommitAnswer::Refused(error),
        Ok(Ok((_, Err(error)))) => CommitAnswer::Missing(error.into()),
        Ok(Err(stopped)) => CommitAnswer::Missing(stopped.into()),
        Err(_) => CommitAnswer::Missing("the database has not answered COMMIT in time".into()),
    }
}

/// Returns the failure for a COMMIT that was refused because of a deferred constraint or a concurrent transaction.
fn commit_failure<T: Errors>(error: &T::Error, done: &[StepResult]) -> Failure<ScriptError> {
    let failed = |mutation: &_| T::fault(error, mutation).into_error(mutation);
    let failed = of_cause(done, |mutation| T::is_about(error, mutation), failed);
    Failure { error: failed.unwrap_or_else(|| T::resolve_error(error).into()), retry: T::retry(error) }
}

/// Returns the error of the write that is the cause of a refused COMMIT: of the first one that the error is about, or else of the
/// last one; `None` if there is no write.
pub fn of_cause(
    done: &[StepResult],
    is_about: impl Fn(&Mutation) -> bool,
    failed: impl FnOnce(&Mutation) -> WriteError,
) -> Option<ScriptError> {
    let steps = done.iter().enumerate().filter_map(|(step, result)| match &result.step {
        ScriptStep::Write(mutations) => Some((step, mutations)),
        _ => None,
    });
    let writes: Vec<_> = steps
        .flat_map(|(step, mutations)| mutations.iter().enumerate().map(move |(item, it)| (step, item, it)))
        .collect();
    let cause = writes.iter().find(|(.., mutation)| is_about(mutation)).or_else(|| writes.last());
    cause.map(|(step, item, mutation)| ScriptError::of_write(*step, *item, mutation, failed(mutation)))
}

/// Returns the failure of a step for an error that does not concern the values of a write.
fn at_step<T: Errors>(step: usize, error: &T::Error) -> Failure<ScriptError> {
    let failed = ScriptError::new(step, WriteError::from(T::resolve_error(error)));
    Failure { error: failed, retry: T::retry(error) }
}
