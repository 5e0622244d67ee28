//! What all requests of an application share.

use std::sync::Arc;

use mesh_docs::Docs;
use mesh_plan::{Changes, Mesh, Persisted};
use mesh_wire::{BasePath, Cors, Profiles};

use super::ids::Ids;
use super::limits::Limits;
use crate::events::Hub;
use crate::integrity::Integrity;
use crate::observability::admin::{Admin, Page};
use crate::observability::metrics::Metrics;
use crate::pipeline::admission::AdmissionLimit;
use crate::pipeline::header_plans::HeaderPlans;
use crate::rates::Rates;
use crate::rates::client_address::Proxies;
use crate::routes::custom::table::CustomRoute;
use crate::uploads::Uploads;

/// The parts of an application.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) header_plans: HeaderPlans,
    pub(crate) base: BasePath,
    pub(crate) limits: Limits,
    pub(crate) profiles: Profiles,
    pub(crate) admission: AdmissionLimit,
    pub(crate) rates: Rates,
    pub(crate) proxies: Proxies,
    pub(crate) integrity: Option<Integrity>,
    pub(crate) persisted: Option<Arc<Persisted>>,
    pub(crate) uploads: Option<Uploads>,
    pub(crate) custom_routes: Vec<Arc<CustomRoute>>,
    pub(crate) changes: Changes,
    pub(crate) hub: Option<Hub>,
    pub(crate) docs: Option<Docs>,
    pub(crate) cors: Option<Cors>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) server_timing: bool,
    #[cfg(feature = "otlp")]
    pub(crate) spans: Option<crate::observability::otlp::Spans>,
    pub(crate) admin: Option<Admin>,
    pub(crate) ids: Ids,
}

impl Shared {
    /// Returns the admin page at a path. With the base path `/`, an entity of the same name has precedence.
    pub(crate) fn admin_page(&self, path: &str) -> Option<Page> {
        let page = Page::from_path(path)?;
        let name = path.trim_start_matches('/');
        let is_entity = self.base == BasePath::root() && self.mesh.schema().find(name).is_some();
        (!is_entity).then_some(page)
    }
}
