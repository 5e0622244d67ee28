//! The attempts to run a transaction, and how each ended. `SPEC §23.2`

use mesh_plan::mutation::Outcome;

/// The reason why an attempt was rolled back, or will be when its connection is closed.
#[derive(Debug)]
pub enum Failure<E> {
    /// It has lost against a concurrent transaction. Another attempt may succeed.
    Conflict(E),
    /// Its connection was broken or out of date. Another attempt may succeed on a new connection.
    Stale(E),
    /// Another attempt would fail too.
    Final(E),
}

impl<E> Failure<E> {
    /// Returns the error.
    pub fn into_error(self) -> E {
        match self {
            Self::Conflict(error) | Self::Stale(error) | Self::Final(error) => error,
        }
    }

    /// Converts the error.
    pub fn map<F>(self, convert: impl FnOnce(E) -> F) -> Failure<F> {
        match self {
            Self::Conflict(error) => Failure::Conflict(convert(error)),
            Self::Stale(error) => Failure::Stale(convert(error)),
            Self::Final(error) => Failure::Final(convert(error)),
        }
    }
}

/// The attempts at a transaction.
#[derive(Debug, Default)]
pub struct Attempts {
    failed: u32,
    /// Whether the last connection was broken, so that the next attempt needs a new one: others may be broken too.
    pub is_stale: bool,
}

impl Attempts {
    /// The maximum number of attempts at a transaction that conflicts with concurrent ones.
    pub const MAX: u32 = 5;

    /// Returns the number of attempts that have failed.
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// Counts an attempt that has failed. Returns the outcome if there is no other attempt.
    pub fn again<T, E>(&mut self, failure: Failure<E>) -> Option<Outcome<T, E>> {
        self.failed += 1;
        self.is_stale = matches!(failure, Failure::Stale(_));
        match failure {
            Failure::Conflict(_) | Failure::Stale(_) if self.failed < Self::MAX => None,
            failure => Some(Outcome::NotCommitted(failure.into_error())),
        }
    }
}
