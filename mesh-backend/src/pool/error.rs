//! The reasons why a statement on a pool has no result.

use std::fmt;
use std::sync::Arc;

use mesh_plan::{Plan, ResolveError};

use super::connection::{Connection, ErrorKind};
use super::row_budget::BudgetExceeded;
use crate::error::with_causes;
use crate::rows::has_sums;
use crate::tables::TableError;
use crate::transaction::{Failure, Retry};

/// The reason why a statement has no result.
#[derive(thiserror::Error)]
pub enum PoolError<C: Connection> {
    /// All connections stayed in use for as long as a request waits.
    #[error("all connections to the database are in use")]
    Exhausted,
    /// The server has not responded in time.
    #[error("the database does not respond")]
    TimedOut,
    /// No connection could be opened.
    #[error("cannot connect to the database: {}", with_causes(.0))]
    Refused(C::Error),
    /// No server can be used, for this reason.
    #[error("{0}")]
    NoHost(Arc<str>),
    /// The statement returns more rows or bytes than it may.
    #[error(transparent)]
    Exceeded(BudgetExceeded),
    /// The connection or the statement failed.
    #[error("{}", with_causes(.0))]
    Failed(C::Error),
}

impl<C: Connection> PoolError<C> {
    /// Returns whether the server cannot be reached, so that another one may answer.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Exhausted | Self::Exceeded(_) => false,
            Self::TimedOut | Self::Refused(_) | Self::NoHost(_) => true,
            Self::Failed(error) => C::kind(error) == ErrorKind::Stale,
        }
    }

    /// Returns whether the server accepts no more connections.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Refused(error) if C::kind(error) == ErrorKind::Full)
    }

    /// Returns whether an idempotent statement may succeed if it is repeated on a new connection.
    pub fn may_be_repeated(&self) -> bool {
        matches!(self, Self::Failed(error) if matches!(C::kind(error), ErrorKind::Stale | ErrorKind::Blocked))
    }

    /// Converts the error of the statement of a plan.
    pub fn of_read(self, plan: &Plan) -> ResolveError {
        match &self {
            // If the statement has sums, a number out of range is a sum.
            Self::Failed(cause) if C::kind(cause) == ErrorKind::OutOfRange && has_sums(plan) => {
                ResolveError::SumOverflow
            }
            Self::Failed(cause) if C::kind(cause) == ErrorKind::InvalidValue => {
                plan.unknown_zone().unwrap_or_else(|| self.into())
            }
            _ => self.into(),
        }
    }

    /// Returns the failure of a transaction with an error that is made from this one.
    pub fn failure<E>(self, convert: impl FnOnce(Self) -> E) -> Failure<E> {
        let retry = if let Self::Failed(error) = &self { C::retry(error) } else { Retry::Never };
        Failure { error: convert(self), retry }
    }
}

impl<C: Connection> From<PoolError<C>> for ResolveError {
    fn from(error: PoolError<C>) -> Self {
        if error.is_unreachable() {
            tracing::warn!("the database cannot be reached: {error}");
            return Self::Busy;
        }
        match &error {
            PoolError::Exceeded(exceeded) => (*exceeded).into(),
            PoolError::Failed(cause) => match C::kind(cause) {
                ErrorKind::TimedOut => Self::TimedOut,
                // A statement that has lost against a concurrent transaction may succeed later.
                ErrorKind::Full | ErrorKind::Blocked => Self::Busy,
                _ => Self::new(error),
            },
            _ => Self::Busy,
        }
    }
}

impl<C: Connection> From<PoolError<C>> for TableError {
    fn from(error: PoolError<C>) -> Self {
        match matches!(error, PoolError::Exhausted) || error.is_unreachable() {
            true => Self::Unavailable(error.into()),
            false => Self::Failed(error.into()),
        }
    }
}

impl<C: Connection> fmt::Debug for PoolError<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
