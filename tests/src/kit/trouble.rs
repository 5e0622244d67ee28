//! Why does a case not pass?

/// What ends a case before its last step, or comes out of its checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The target did not do what the case says.
    Fault(String),
    /// The case needs a choice that the target's profile does not declare.
    Undeclared(String),
    /// The case could not be tried: no connection, no fixture, or the case itself is wrong.
    Setup(String),
    /// The target does not claim what the case needs.
    Skip(String),
}
