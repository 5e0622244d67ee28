//! The state that all requests of an application share.

use std::sync::Arc;

use mesh_docs::Docs;
use mesh_plan::{Changes, Mesh};
use mesh_wire::request::AllowedHosts;
use mesh_wire::{BasePath, Cors, Profiles, response};

use super::caching::CacheControlValues;
use super::exports::Exports;
use super::ids::Ids;
use super::limits::TransportLimits;
use crate::clients::ClientLimits;
use crate::events::Hub;
use crate::identity::authenticator::RequestAuthenticator;
use crate::observability::admin::Admin;
use crate::observability::audit::AuditLog;
use crate::observability::metrics::Metrics;
use crate::pipeline::query::Queries;
use crate::rates::Rates;
use crate::rates::client_address::Proxies;
use crate::uploads::Uploads;

/// The parts of an application.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) queries: Queries,
    pub(crate) base: BasePath,
    pub(crate) limits: TransportLimits,
    pub(crate) profiles: Profiles,
    pub(crate) rates: Rates,
    pub(crate) clients: ClientLimits,
    pub(crate) proxies: Proxies,
    pub(crate) hosts: AllowedHosts,
    pub(crate) authenticator: RequestAuthenticator,
    pub(crate) uploads: Option<Uploads>,
    pub(crate) fallback: Option<super::fallback::Fallback>,
    pub(crate) changes: Changes,
    pub(crate) hub: Option<Hub>,
    pub(crate) exports: Option<Exports>,
    pub(crate) docs: Option<Docs>,
    #[cfg(feature = "mcp")]
    pub(crate) mcp: Option<crate::mcp::PreparedTools>,
    pub(crate) cors: Option<Cors>,
    /// `Cache-Control` of reads.
    pub(crate) caching: CacheControlValues,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) audit: Option<AuditLog>,
    pub(crate) server_timing: bool,
    #[cfg(feature = "otlp")]
    pub(crate) spans: Option<crate::observability::otlp::Spans>,
    pub(crate) admin: Option<Admin>,
    pub(crate) ids: Ids,
}

impl Shared {
    /// Returns the path of a record, whose id is given as in [`mesh_plan::RecordId::Text`].
    pub(crate) fn location(&self, entity: &str, id: &str) -> String {
        response::location(&self.base, entity, &self.mesh.id_segment(entity, id))
    }
}
