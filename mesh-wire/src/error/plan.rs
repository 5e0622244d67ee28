//! Which row of the error table does a failed read get?

use mesh_plan::{Error, PlanError, PlanErrorKind, ResolveError};

use crate::{Code, WireError};

/// Seconds after which a client may try again what the server had no room for.
const RETRY_AFTER: u32 = 1;

impl From<Error> for WireError {
    fn from(error: Error) -> Self {
        match error {
            Error::Syntax(error) => error.into(),
            Error::Plan(error) => error.into(),
            Error::Resolve(error) => error.into(),
            _ => Self::internal(),
        }
    }
}

impl From<PlanError> for WireError {
    fn from(error: PlanError) -> Self {
        let wire = Self::validation(error.to_string()).with_path(error.path);
        match error.kind {
            PlanErrorKind::CursorMismatch => wire.with_code(Code::CursorMismatch),
            _ => wire,
        }
    }
}

impl From<ResolveError> for WireError {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::TooLarge { .. } => {
                Self::validation(error.to_string()).with_code(Code::ResultTooLarge)
            }
            ResolveError::SumOverflow => Self::validation(error.to_string()).with_code(Code::SumOverflow),
            ResolveError::TimedOut => Self::timeout(),
            ResolveError::Busy => Self::unavailable(RETRY_AFTER),
            _ => Self::resolver(),
        }
    }
}
