//! Faults of single members of a write's body.

use thiserror::Error;

use super::PlanErrorKind;

/// A member of a write's body that is at fault.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{kind}")]
#[non_exhaustive]
pub struct FieldFault {
    /// The name of the member.
    pub field: String,
    /// The rule that it violates.
    pub kind: PlanErrorKind,
}

impl FieldFault {
    /// Creates the fault of a member.
    pub fn new(field: impl Into<String>, kind: impl Into<PlanErrorKind>) -> Self {
        Self { field: field.into(), kind: kind.into() }
    }
}
