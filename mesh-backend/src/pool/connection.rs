//! What pools need of a connection and its driver.

use std::error::Error as StdError;

use tokio::runtime::Id;

use crate::transaction::Retry;

/// A connection of a pool.
pub trait Connection: Send + 'static {
    /// The error of the driver.
    type Error: StdError + Send + Sync + 'static;

    /// Returns the runtime that opened it.
    fn runtime(&self) -> Id;

    /// Returns whether it can be used: neither the server nor the end of that runtime has closed it.
    fn is_open(&mut self) -> bool;

    /// Returns whether a statement is running.
    fn is_running(&self) -> bool;

    /// Returns whether a transaction is open.
    fn in_transaction(&self) -> bool;

    /// Ends the running statement.
    fn end_statement(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Returns the reason why the database refuses a statement without parameters, which is not run; `None` if it does not.
    fn refusal(&mut self, sql: &str) -> impl Future<Output = Result<Option<String>, Self::Error>> + Send;

    /// Returns the kind of an error.
    fn kind(error: &Self::Error) -> ErrorKind;

    /// Returns whether a transaction has lost against a concurrent one.
    fn is_conflict(error: &Self::Error) -> bool;

    /// Returns whether a transaction that was not committed may succeed if it is tried again.
    fn retry(error: &Self::Error) -> Retry {
        match Self::kind(error) {
            _ if Self::is_conflict(error) => Retry::Again,
            ErrorKind::Stale => Retry::OnNewConnection,
            _ => Retry::Never,
        }
    }
}

/// The kind of an error, regardless of what was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The connection is broken or out of date. A statement may succeed on a new one.
    Stale,
    /// The server accepts no more connections.
    Full,
    /// The statement was blocked by others, and may succeed if it is repeated.
    Blocked,
    /// The statement has taken too long.
    TimedOut,
    /// A number is out of range.
    OutOfRange,
    /// A value makes no sense to a function, such as the name of an unknown time zone.
    InvalidValue,
    /// Any other error.
    Other,
}
