//! Log lines about errors whose causes are not sent to clients.

use std::error::Error as StdError;

use mesh_plan::error::PlanErrorKind;
use mesh_plan::{Error, PlanError, ResolveError, WriteError};
use mesh_wire::WireError;

/// Logs an error with the chain of its sources.
pub(crate) fn chain(request_id: &str, error: &(dyn StdError + 'static)) {
    tracing::error!(request = %request_id, "{}", with_causes(error));
}

/// Formats an error with the chain of its sources.
pub(crate) fn with_causes(error: &(dyn StdError + 'static)) -> String {
    let errors = std::iter::successors(Some(error), |error| (*error).source());
    errors.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Logs a read that failed.
pub(crate) fn resolve_error(request_id: &str, error: &ResolveError) {
    match error {
        // These are sent to the client unchanged.
        ResolveError::TooLarge { .. }
        | ResolveError::ExportTooLong { .. }
        | ResolveError::TooManyBytes { .. }
        | ResolveError::SortTooLarge { .. }
        | ResolveError::UnknownZone { .. }
        | ResolveError::SumOverflow => {}
        // These can be very frequent under overload.
        ResolveError::Busy => tracing::debug!(request = %request_id, "{error}"),
        error => chain(request_id, error),
    }
}

/// Logs an error of the core as far as it is not sent to the client, and returns the error for the client.
pub(crate) fn logged(request_id: &str, error: impl Into<Error>) -> WireError {
    let error = error.into();
    match &error {
        Error::Resolve(cause) | Error::Write(WriteError::Failed(cause)) => resolve_error(request_id, cause),
        // A policy that does not fit the schema is the only planning error that is not sent to clients.
        Error::Plan(PlanError { kind: PlanErrorKind::Policy { .. }, .. }) => {
            tracing::error!(request = %request_id, "{error}");
        }
        _ => {}
    }
    error.into()
}
