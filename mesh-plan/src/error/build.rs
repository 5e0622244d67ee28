//! Errors of the construction of a [`Mesh`](crate::Mesh).

use mesh_schema::{ComputedError, Fault};
use thiserror::Error;

use super::{PlanError, hint};

/// All faults of a [`MeshBuilder`](crate::MeshBuilder), sorted by their text. `Display` writes one line for each.
#[derive(Clone, Debug, Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct BuildError(pub(crate) Vec<BuildFault>);

impl BuildError {
    /// Returns the faults; there is at least one.
    pub fn faults(&self) -> &[BuildFault] {
        &self.0
    }
}

/// A fault of a [`MeshBuilder`](crate::MeshBuilder). `nearest` is the most similar key in the schema.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of the variants explains their fields")]
pub enum BuildFault {
    /// A resolver is set for an entity that the schema lacks.
    #[error("resolver of '{entity}': Entity '{entity}' not found{}", hint(.nearest))]
    Resolver { entity: String, nearest: Option<String> },
    /// A mutator is set for an entity that the schema lacks.
    #[error("mutator of '{entity}': Entity '{entity}' not found{}", hint(.nearest))]
    Mutator { entity: String, nearest: Option<String> },
    /// A computed field (`entityKey.name`) does not fit the schema.
    #[error("computed field '{field}': {error}")]
    Computed { field: String, error: ComputedError },
    /// A condition in the policies of the schema document is wrong.
    #[error("{0}")]
    SchemaPolicy(Fault),
    /// A condition of another policy is wrong.
    #[error("{0}")]
    Policy(PlanError),
}
