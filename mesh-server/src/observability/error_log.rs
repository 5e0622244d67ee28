//! Log lines about errors whose causes are not sent to clients.

use std::error::Error as StdError;

use mesh_plan::error::PlanErrorKind;
use mesh_plan::{Error, PlanError, ResolveError};

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

/// Logs a policy that does not fit the schema. This is the only planning error that is not sent to clients.
pub(crate) fn plan_error(request_id: &str, error: &Error) {
    if let Error::Plan(PlanError { kind: PlanErrorKind::Policy { .. }, .. }) = error {
        tracing::error!(request = %request_id, "{error}");
    }
}
