//! Execution of exports. `SPEC §16`

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

use super::{Mesh, panicked};
use crate::{Context, Export, Plan, ResolveError};

impl Mesh {
    /// Exports the records of a plan ([`crate::Request::exported`]) that was checked with [`Plan::check_export`]. Returns their
    /// number.
    ///
    /// # Errors
    /// Those of the resolver and of the sink. The sink has then received only the beginning of the export.
    pub async fn export(&self, plan: &Plan, context: &Context, export: Export) -> Result<u64, ResolveError> {
        let entity = &plan.node().entity;
        let resolver = self.resolvers.find(entity).ok_or_else(|| ResolveError::Missing(entity.clone()))?;
        let exporting = async { resolver.export(plan, context, export).await };
        AssertUnwindSafe(exporting).catch_unwind().await.map_err(panicked)?
    }
}
