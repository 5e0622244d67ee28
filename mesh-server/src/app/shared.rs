//! The state that all requests of an application share.

use std::sync::Arc;

use mesh_docs::Docs;
use mesh_plan::Mesh;
use mesh_wire::{Profiles, response};

use super::caching::CacheControlValues;
use super::ids::Ids;
use super::options::AppOptions;
use crate::events::Hub;
use crate::observability::metrics::Metrics;
use crate::pipeline::query::Queries;

/// The parts of an application.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) options: AppOptions,
    pub(crate) queries: Queries,
    pub(crate) profiles: Profiles,
    pub(crate) hub: Option<Hub>,
    pub(crate) docs: Option<Docs>,
    #[cfg(feature = "mcp")]
    pub(crate) mcp: Option<crate::mcp::PreparedTools>,
    /// `Cache-Control` of reads.
    pub(crate) caching: CacheControlValues,
    /// The metrics that count the requests.
    pub(crate) metrics: Option<Metrics>,
    pub(crate) ids: Ids,
}

impl Shared {
    /// Returns the path of a record, whose id is given as in [`mesh_plan::RecordId::Text`].
    pub(crate) fn location(&self, entity: &str, id: &str) -> String {
        response::location(&self.options.base_path, entity, &self.mesh.id_segment(entity, id))
    }
}
