//! The attempts to run a transaction, and how each ended. `SPEC §23.2`

use mesh_plan::mutation::Outcome;

/// Whether a transaction that failed may succeed if it is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It may: it has lost against a concurrent transaction.
    Again,
    /// It may on a new connection: the used one is broken or out of date.
    OnNewConnection,
    /// It would fail too.
    Never,
}

/// The reason why an attempt was rolled back, or will be when its connection is closed.
#[derive(Debug)]
pub struct Failure<E> {
    /// The error.
    pub error: E,
    /// Whether another attempt may succeed.
    pub retry: Retry,
}

impl<E> Failure<E> {
    /// Converts the error.
    pub fn map<F>(self, convert: impl FnOnce(E) -> F) -> Failure<F> {
        Failure { error: convert(self.error), retry: self.retry }
    }
}

/// Creates the failure of an attempt after which another one would fail too.
impl<E> From<E> for Failure<E> {
    fn from(error: E) -> Self {
        Self { error, retry: Retry::Never }
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
        self.is_stale = failure.retry == Retry::OnNewConnection;
        let is_last = failure.retry == Retry::Never || self.failed >= Self::MAX;
        is_last.then(|| Outcome::NotCommitted(failure.error))
    }
}
