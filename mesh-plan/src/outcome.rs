//! What became of a write, and the phases of its transaction. `SPEC §23`

use std::error::Error as StdError;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::ResolveError;

/// What became of a write. Back ends decide it, and everything above only passes it on.
///
/// Once COMMIT is sent, neither a deadline, a client that disconnects, a shutdown nor a bound on replies turns one case into
/// another: only the answer of the storage counts.
#[derive(Debug)]
#[must_use = "a write may have failed"]
pub enum Outcome<T, E> {
    /// The write is in effect, and durable.
    Committed(T),
    /// Nothing was written, so the write can be sent again.
    NotCommitted(E),
    /// The storage did not say whether it has committed the write: the connection was lost, or it did not answer in time. The
    /// cause is for the log.
    Unknown(Box<dyn StdError + Send + Sync>),
}

impl<T, E> Outcome<T, E> {
    /// Creates an unknown outcome with a message for the log.
    pub fn unknown(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unknown(cause.into())
    }

    /// Converts the result of a committed write.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Outcome<U, E> {
        match self {
            Self::Committed(reply) => Outcome::Committed(convert(reply)),
            Self::NotCommitted(error) => Outcome::NotCommitted(error),
            Self::Unknown(cause) => Outcome::Unknown(cause),
        }
    }

    /// Converts the error of a write that was not committed.
    pub fn map_err<F>(self, convert: impl FnOnce(E) -> F) -> Outcome<T, F> {
        match self {
            Self::Committed(reply) => Outcome::Committed(reply),
            Self::NotCommitted(error) => Outcome::NotCommitted(convert(error)),
            Self::Unknown(cause) => Outcome::Unknown(cause),
        }
    }

    /// Converts the outcome for callers that never send a write again: an unknown outcome is a failure, too.
    ///
    /// # Errors
    /// The write was not committed, or may not have been.
    pub fn into_result(self) -> Result<T, E>
    where
        E: From<ResolveError>,
    {
        match self {
            Self::Committed(reply) => Ok(reply),
            Self::NotCommitted(error) => Err(error),
            Self::Unknown(cause) => Err(ResolveError::Failed(cause).into()),
        }
    }
}

/// The outcome of a storage whose answer is always known.
impl<T, E> From<Result<T, E>> for Outcome<T, E> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(reply) => Self::Committed(reply),
            Err(error) => Self::NotCommitted(error),
        }
    }
}

/// Whether a write has begun to commit, shared by the back end that runs it and the server that may have to stop it.
#[derive(Debug, Default)]
pub struct CommitGate(AtomicU8);

const OPEN: u8 = 0;
const COMMITTING: u8 = 1;
const CLOSED: u8 = 2;

impl CommitGate {
    /// Announces that COMMIT is sent next. Returns whether it may be sent; otherwise the write has to be rolled back.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.0.compare_exchange(OPEN, COMMITTING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Announces that the storage has refused the COMMIT. The write may be tried again.
    pub fn reopen(&self) {
        let _ = self.0.compare_exchange(COMMITTING, OPEN, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Prevents that COMMIT is sent. Returns `false` if it was sent already, so that its answer has to be awaited.
    #[must_use]
    pub fn close(&self) -> bool {
        match self.0.compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(phase) => phase == CLOSED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_closes_unless_commit_was_sent() {
        let gate = CommitGate::default();
        assert!(gate.begin() && !gate.close(), "COMMIT was sent");
        gate.reopen();
        assert!(gate.close() && gate.close(), "COMMIT was refused");
        assert!(!gate.begin(), "the gate is closed");
        gate.reopen();
        assert!(!gate.begin(), "it stays closed");
    }
}
