//! The statuses of reads and writes that fail in mesh-plan.

use http::Method;
use mesh_plan::{Error, PlanError, PlanErrorKind, ResolveError, WriteError, WriteFault};

use crate::{AllowedMethods, Code, ErrorKind, WireError};

/// Seconds after which a client may try again what the server had no room for.
const RETRY_AFTER: u32 = 1;

impl From<Error> for WireError {
    fn from(error: Error) -> Self {
        match error {
            Error::Syntax(error) => error.into(),
            Error::Plan(error) => error.into(),
            Error::Resolve(error) => error.into(),
            Error::Write(error) => error.into(),
            _ => Self::internal(),
        }
    }
}

impl From<PlanError> for WireError {
    fn from(error: PlanError) -> Self {
        let words = error.to_string();
        // The path is one for a relation of the other kind, so the method is what is wrong. `SPEC §11`
        if let PlanErrorKind::Write(WriteFault::WrongCardinality { many, .. }) = error.kind {
            let allow =
                AllowedMethods::new(if many { &[Method::POST] } else { &[Method::PUT, Method::DELETE] });
            return Self { allow: Some(allow), ..Self::new(ErrorKind::MethodNotAllowed, words) };
        }
        // A policy that does not fit the schema is not the client's fault, nor to be told to it.
        if let PlanErrorKind::Policy { .. } = error.kind {
            return Self::internal();
        }
        let wire = Self::validation(words).with_path(error.path);
        match error.kind {
            PlanErrorKind::CursorMismatch => wire.with_code(Code::CursorMismatch),
            _ => wire,
        }
    }
}

/// `SPEC §11`
impl From<WriteError> for WireError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::NotFound { .. } => Self::new(ErrorKind::NotFound, error.to_string()),
            WriteError::Conflict { .. } => Self::new(ErrorKind::Conflict, error.to_string()),
            WriteError::Value => Self::validation(error.to_string()),
            WriteError::Refused(words) => Self::integrity(Code::Forbidden, words),
            WriteError::Failed(error) => error.into(),
            _ => Self::internal(),
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
