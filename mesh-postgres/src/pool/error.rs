//! The reasons why a statement has no result.

use std::sync::Arc;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::error::with_causes;
use mesh_backend::pool::BudgetExceeded;

/// The reason why a statement has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PoolError {
    /// All connections stayed in use for as long as a request waits.
    #[error("all connections to the database are in use")]
    Exhausted,
    /// The server did not accept a connection in time.
    #[error("the database does not respond")]
    TimedOut,
    /// No connection could be opened.
    #[error("cannot connect to the database: {}", with_causes(.0))]
    Refused(Error),
    /// No host of the database fits, for this reason.
    #[error("{0}")]
    NoHost(Arc<str>),
    /// The statement returns more rows or bytes than it may.
    #[error(transparent)]
    Exceeded(#[from] BudgetExceeded),
    /// The connection or the statement failed.
    #[error("{}", with_causes(.0))]
    Failed(Error),
}

impl From<Error> for PoolError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl PoolError {
    /// Returns whether the server cannot be reached, so that another one may answer.
    pub(crate) fn is_unreachable(&self) -> bool {
        match self {
            Self::Exhausted | Self::Exceeded(_) => false,
            Self::TimedOut | Self::Refused(_) | Self::NoHost(_) => true,
            Self::Failed(error) => is_stale(error),
        }
    }

    /// Returns whether the server accepts no more connections.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Refused(error) if is_full(error))
    }
}

/// Returns whether a server accepts no more connections.
pub(super) fn is_full(error: &Error) -> bool {
    error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS)
}

/// Returns whether a connection is broken or a prepared statement is out of date, so that the statement may succeed on
/// a new connection.
pub(crate) fn is_stale(error: &Error) -> bool {
    let Some(cause) = error.as_db_error() else {
        return error.is_closed()
            || std::error::Error::source(error).is_some_and(|it| it.is::<std::io::Error>());
    };
    let stale = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::INVALID_SQL_STATEMENT_NAME,
        // A replica cancels reads that conflict with replay.
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    let code = cause.code();
    stale.contains(code)
        || code.code().starts_with("08")
        // The tables of a prepared statement were altered. The message is localized and all unsupported features share
        // the code, so the routine in the source of PostgreSQL identifies the error.
        || *code == SqlState::FEATURE_NOT_SUPPORTED && cause.routine() == Some("RevalidateCachedQuery")
}
