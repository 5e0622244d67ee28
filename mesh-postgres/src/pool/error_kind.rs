//! The meaning of PostgreSQL's errors, regardless of what was read or written.

use mesh_backend::pool::ErrorKind;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Returns the kind of an error.
pub(super) fn kind(error: &Error) -> ErrorKind {
    match error.code() {
        Some(&SqlState::QUERY_CANCELED) => ErrorKind::TimedOut,
        Some(&SqlState::TOO_MANY_CONNECTIONS) => ErrorKind::Full,
        Some(&SqlState::T_R_DEADLOCK_DETECTED) => ErrorKind::Blocked,
        Some(&SqlState::NUMERIC_VALUE_OUT_OF_RANGE) => ErrorKind::OutOfRange,
        Some(&SqlState::INVALID_PARAMETER_VALUE) => ErrorKind::InvalidValue,
        _ if is_stale(error) => ErrorKind::Stale,
        _ => ErrorKind::Other,
    }
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
