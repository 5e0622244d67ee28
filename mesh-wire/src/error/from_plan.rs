//! Conversion of the errors of mesh-plan.

use mesh_plan::error::{PlanErrorKind, WriteFault};
use mesh_plan::mutation::Outcome;
use mesh_plan::{Error, PlanError, ResolveError, WriteError};

use crate::request::ReferenceError;
use crate::{AllowedMethods, Code, ErrorKind, WireError};

impl WireError {
    /// Returns the result of a committed write, or the error of one that was not committed or may not have been. This is the
    /// only place that maps outcomes to replies. `SPEC §23.1`
    ///
    /// # Errors
    /// The write was not committed, or may not have been.
    pub fn of_outcome<T, E: Into<Self>>(outcome: Outcome<T, E>) -> Result<T, Self> {
        match outcome {
            Outcome::Committed(reply) => Ok(reply),
            Outcome::NotCommitted(error) => Err(error.into().of_write()),
            Outcome::Unknown(_) => Err(Self::outcome_unknown()),
        }
    }
}

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

/// The error of a reference in a step of a batch is one of the write.
impl From<ReferenceError> for Error {
    fn from(error: ReferenceError) -> Self {
        PlanError::new(WriteFault::Reference { why: error.to_string() }, "").into()
    }
}

impl From<PlanError> for WireError {
    fn from(error: PlanError) -> Self {
        let message = error.to_string();
        // The path would be valid for a relation of the other cardinality, so the method is wrong. `SPEC §11`
        if let PlanErrorKind::Write(fault) = &error.kind
            && let WriteFault::WrongCardinality { many, .. } = **fault
        {
            let allow =
                if many { AllowedMethods::POST } else { AllowedMethods::PUT | AllowedMethods::DELETE };
            return Self { allow: Some(allow), ..Self::new(ErrorKind::MethodNotAllowed, message) };
        }
        // A policy that does not match the schema is a fault of the server, whose details clients must not see.
        if let PlanErrorKind::Policy { .. } = error.kind {
            return Self::internal();
        }
        let wire = Self {
            line: error.position.map(|position| position.line),
            column: error.position.map(|position| position.column),
            ..Self::validation(message).with_path(error.path)
        };
        let wire = match &error.kind {
            PlanErrorKind::Write(fault) => match &**fault {
                WriteFault::Fields(faults) => {
                    wire.with_fields(faults.iter().map(|fault| (fault.field.as_str(), fault.to_string())))
                }
                _ => wire,
            },
            _ => wire,
        };
        let kind = match &error.kind {
            PlanErrorKind::Parameter { fault, .. } => fault,
            kind => kind,
        };
        match kind {
            PlanErrorKind::CursorMismatch => wire.with_code(Code::CursorMismatch),
            _ => wire,
        }
    }
}

/// `SPEC §11`
impl From<WriteError> for WireError {
    fn from(error: WriteError) -> Self {
        if let WriteError::Failed(error) = error {
            let wire = Self::from(error);
            return if wire == Self::resolver() { Self::mutator() } else { wire };
        }
        let wire = match &error {
            WriteError::NotFound { .. } | WriteError::NoReferred { .. } => {
                Self::new(ErrorKind::NotFound, error.to_string())
            }
            WriteError::Conflict { .. } | WriteError::Skipped { .. } => {
                Self::new(ErrorKind::Conflict, error.to_string())
            }
            WriteError::Changed => Self::new(
                ErrorKind::Precondition,
                "The record has changed: its entity tag is not one of those in If-Match; read it again",
            ),
            WriteError::Value(_) => Self::validation(error.to_string()),
            WriteError::Refused(message) => Self::integrity(Code::Forbidden, message.clone()),
            _ => Self::internal(),
        };
        wire.with_fields(error.fields())
    }
}

impl From<ResolveError> for WireError {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::TooLarge { .. }
            | ResolveError::ExportTooLong { .. }
            | ResolveError::TooManyBytes { .. } => {
                Self::validation(error.to_string()).with_code(Code::ResultTooLarge)
            }
            ResolveError::UnknownZone { .. } => Self::validation(error.to_string()),
            ResolveError::SumOverflow => Self::validation(error.to_string()).with_code(Code::SumOverflow),
            ResolveError::SortTooLarge { ref path, .. } => {
                let path = path.clone();
                Self::validation(error.to_string()).with_path(path).with_code(Code::SortTooLarge)
            }
            ResolveError::TimedOut => Self::timeout(),
            ResolveError::Busy => Self::unavailable(),
            _ => Self::resolver(),
        }
    }
}
