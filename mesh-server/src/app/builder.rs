//! What is an application made of? Its parts, each given in one call.

use std::sync::{Arc, OnceLock};

use http::Method;
use mesh_plan::{Changes, Mesh, Persisted};
use mesh_wire::{BasePath, Cors, Profiles};

use super::{App, Ids, Limits, Shared};
use crate::app::integrity::Integrity;
use crate::events::Events;
use crate::observability::admin::Admin;
use crate::observability::metrics::Metrics;
use crate::pipeline::admission::AdmissionLimit;
use crate::rates::Rates;
use crate::rates::client_address::Proxies;
use crate::routes::custom;
use crate::routes::docs::Surface;
use crate::routes::plans::Plans;
use crate::uploads::Uploads;

impl App {
    /// An application at the base path `/mesh` with the protocol's limits.
    pub fn new(mesh: impl Into<Arc<Mesh>>) -> Self {
        let mesh = mesh.into();
        let shared = Shared {
            plans: Arc::new(Plans::of(&mesh)),
            mesh,
            base: BasePath::default(),
            limits: Limits::default(),
            admission: AdmissionLimit::new(Limits::default().requests),
            profiles: Profiles::default(),
            rates: Rates::default(),
            proxies: Proxies::default(),
            integrity: None,
            uploads: None,
            persisted: None,
            routes: custom::Routes::default(),
            changes: Changes::new(),
            metrics: None,
            admin: None,
            timing: false,
            #[cfg(feature = "otlp")]
            spans: None,
            cors: None,
            docs: Surface::default(),
            events: None,
            hub: OnceLock::new(),
            ids: Arc::new(Ids::new()),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The same at another base path.
    #[must_use]
    pub fn at(self, base: BasePath) -> Self {
        self.with(|shared| shared.base = base)
    }

    /// The same with other limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        self.with(|shared| {
            shared.limits = limits;
            shared.admission = AdmissionLimit::new(limits.requests);
        })
    }

    /// The same with limits on how often one client may ask. `SPEC §12.6`
    #[must_use]
    pub fn rates(self, rates: Rates) -> Self {
        self.with(|shared| shared.rates = rates)
    }

    /// The same behind proxies whose `X-Forwarded-For` says where a request comes from. `SPEC §12.1`
    #[must_use]
    pub fn trusted_proxies(self, proxies: Proxies) -> Self {
        self.with(|shared| shared.proxies = proxies)
    }

    /// The same counting what it does.
    #[must_use]
    pub fn metrics(self, metrics: Metrics) -> Self {
        self.with(|shared| shared.metrics = Some(metrics))
    }

    /// The same telling clients in `Server-Timing` what a read took.
    #[must_use]
    pub fn server_timing(self, on: bool) -> Self {
        self.with(|shared| shared.timing = on)
    }

    /// The same telling a collector of each request.
    #[cfg(feature = "otlp")]
    #[must_use]
    pub fn spans(self, spans: crate::observability::otlp::Spans) -> Self {
        self.with(|shared| shared.spans = Some(spans))
    }

    /// The same with `/healthz`, `/readyz` and `/metrics` beside the base path, for everybody who reaches it.
    /// [`Admin::serve`] shows them on an address of their own instead.
    #[must_use]
    pub fn admin(self, admin: Admin) -> Self {
        self.with(|shared| {
            shared.metrics = Some(admin.metrics().clone());
            shared.admin = Some(admin);
        })
    }

    /// The same with sessions: every request but login and logout must be signed. `SPEC §7`
    #[must_use]
    pub fn integrity(self, integrity: Integrity) -> Self {
        self.with(|shared| {
            shared.integrity = Some(integrity);
            shared.profiles.integrity = true;
        })
    }

    /// The same with registered queries, which must be those of the same core. `SPEC §8`
    #[must_use]
    pub fn persisted(self, persisted: Persisted) -> Self {
        self.with(|shared| {
            shared.persisted = Some(Arc::new(persisted));
            shared.profiles.persisted = true;
        })
    }

    /// The same with write routes for the entities and fields that the schema has as writable. `SPEC §11`
    #[must_use]
    pub fn mutations(self, on: bool) -> Self {
        self.with(|shared| shared.profiles.mutations = on)
    }

    /// The same with a notice board that others write to as well.
    #[must_use]
    pub fn changes(self, changes: Changes) -> Self {
        self.with(|shared| shared.changes = changes)
    }

    /// The same with pages of other origins that may ask and read. `SPEC §12.5`
    #[must_use]
    pub fn cors(self, cors: Cors) -> Self {
        self.with(|shared| shared.cors = Some(cors))
    }

    /// The same with streams of changes. They hear of writes over the board of [`App::changes`]. `SPEC §10`
    #[must_use]
    pub fn events(self, events: Events) -> Self {
        self.with(|shared| {
            shared.events = Some(events);
            shared.profiles.events = true;
        })
    }

    /// The same with a page to explore the schema and try queries on, beside the base path. `SPEC §13`
    #[must_use]
    pub fn docs(self, options: mesh_docs::Options) -> Self {
        self.with(|shared| shared.docs = Surface::new(options))
    }

    /// The same with a route of the application's own at a path under the base, such as `post/:id`. It comes
    /// before the protocol's routes.
    ///
    /// # Errors
    /// A pattern that is none.
    pub fn route(
        self,
        method: Method,
        pattern: &str,
        handler: impl custom::Handler,
    ) -> Result<Self, custom::PatternError> {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        shared.routes.add(method, pattern, handler)?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The same with files, for fields that the schema declares under `uploads`. `SPEC §9`
    #[must_use]
    pub fn uploads(self, uploads: Uploads) -> Self {
        self.with(|shared| {
            shared.profiles.uploads = true;
            shared.profiles.files = uploads.path.clone();
            shared.uploads = Some(uploads);
        })
    }

    fn with(self, change: impl FnOnce(&mut Shared)) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        change(&mut shared);
        Self { shared: Arc::new(shared) }
    }
}
