//! The reasons why a case does not pass.

/// A reason why a case does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The target did not behave as the case expects.
    Mismatch(String),
    /// The case needs a choice that the target's profile does not declare.
    Undeclared(String),
    /// The case could not be executed: no connection, no fixture, or an invalid case.
    Setup(String),
    /// The target does not claim what the case requires.
    Skip(String),
}
