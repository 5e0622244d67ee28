//! The builder of an application.

use std::fmt;
use std::sync::Arc;

use http::Method;
use mesh_docs::{Docs, Offers, Options};
use mesh_plan::{Changes, Mesh, Persisted};
use mesh_wire::{BasePath, Cors, Profiles};

use super::App;
use super::ids::Ids;
use super::limits::Limits;
use super::shared::Shared;
use crate::events::{Events, Hub};
use crate::integrity::Integrity;
use crate::observability::admin::Admin;
use crate::observability::metrics::Metrics;
#[cfg(feature = "otlp")]
use crate::observability::otlp::Spans;
use crate::pipeline::admission::AdmissionLimit;
use crate::pipeline::header_plans::HeaderPlans;
use crate::rates::Rates;
use crate::rates::client_address::Proxies;
use crate::routes::custom::pattern::{Pattern, PatternError};
use crate::routes::custom::table::{CustomRoute, Handler};
use crate::uploads::Uploads;

/// Collects the parts of an [`App`].
#[derive(Debug)]
#[must_use = "an application is made by `build`"]
pub struct AppBuilder {
    mesh: Arc<Mesh>,
    base: BasePath,
    limits: Limits,
    rates: Rates,
    proxies: Proxies,
    mutations: bool,
    integrity: Option<Integrity>,
    persisted: Option<Persisted>,
    uploads: Option<Uploads>,
    custom_routes: Vec<Result<CustomRoute, PatternError>>,
    changes: Changes,
    events: Option<Events>,
    docs: Option<Options>,
    cors: Option<Cors>,
    metrics: Option<Metrics>,
    server_timing: bool,
    #[cfg(feature = "otlp")]
    spans: Option<Spans>,
    admin: Option<Admin>,
}

/// The error of an application that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The pattern of a route of the application is malformed.
    Pattern(PatternError),
    /// A route of the application, `method` and `pattern`, was added twice.
    RepeatedRoute {
        /// The method of the route.
        method: Method,
        /// The pattern of the route, with a slash before each segment.
        pattern: String,
    },
    /// Uploads are set, but no field of the schema accepts files.
    NoUploadField,
    /// The docs surface has the base path of the protocol's routes.
    DocsAtBasePath(BasePath),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(error) => error.fmt(f),
            Self::RepeatedRoute { method, pattern } => {
                write!(f, "the route {method} {pattern} is added twice; remove one of them")
            }
            Self::NoUploadField => f.write_str(
                "uploads are on, but no field of the schema takes files; declare fields under 'uploads'",
            ),
            Self::DocsAtBasePath(base) => {
                write!(f, "the docs surface has the base path {base}; choose another path for one of them")
            }
        }
    }
}

impl std::error::Error for BuildError {}

impl App {
    /// Starts an application at the base path `/mesh` with the protocol's limits.
    ///
    /// ```
    /// use mesh_plan::{Mesh, memory::Tables};
    /// use mesh_schema::{FieldType, Schema};
    /// use mesh_server::App;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let schema = Schema::builder()
    ///     .entity("post", |post| post.field("id", FieldType::Integer))
    ///     .build()?;
    /// let mesh = Mesh::builder(schema).default_resolver(Tables::new()).build()?;
    /// let app = App::builder(mesh).server_timing(true).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(mesh: impl Into<Arc<Mesh>>) -> AppBuilder {
        AppBuilder {
            mesh: mesh.into(),
            base: BasePath::default(),
            limits: Limits::default(),
            rates: Rates::default(),
            proxies: Proxies::default(),
            mutations: false,
            integrity: None,
            persisted: None,
            uploads: None,
            custom_routes: Vec::new(),
            changes: Changes::new(),
            events: None,
            docs: None,
            cors: None,
            metrics: None,
            server_timing: false,
            #[cfg(feature = "otlp")]
            spans: None,
            admin: None,
        }
    }
}

impl AppBuilder {
    /// Sets the base path.
    pub fn base_path(mut self, base: BasePath) -> Self {
        self.base = base;
        self
    }

    /// Sets the limits of the transport.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the rate limits. `SPEC §12.6`
    pub fn rates(mut self, rates: Rates) -> Self {
        self.rates = rates;
        self
    }

    /// Sets the proxies whose `X-Forwarded-For` is trusted. `SPEC §12.1`
    pub fn trusted_proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Sets the metrics that requests are counted in.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Sets whether replies of reads have `Server-Timing`.
    pub fn server_timing(mut self, on: bool) -> Self {
        self.server_timing = on;
        self
    }

    /// Sends a span of each request to a collector.
    #[cfg(feature = "otlp")]
    pub fn spans(mut self, spans: Spans) -> Self {
        self.spans = Some(spans);
        self
    }

    /// Serves `/healthz`, `/readyz` and `/metrics` beside the base path, without authentication.
    /// [`Admin::serve`] serves them on an address of their own instead.
    pub fn admin(mut self, admin: Admin) -> Self {
        self.metrics = Some(admin.metrics().clone());
        self.admin = Some(admin);
        self
    }

    /// Requires sessions: every request except login and logout must be signed. `SPEC §7`
    pub fn integrity(mut self, integrity: Integrity) -> Self {
        self.integrity = Some(integrity);
        self
    }

    /// Serves registered queries, which must have been checked against the same [`Mesh`]. `SPEC §8`
    pub fn persisted(mut self, persisted: Persisted) -> Self {
        self.persisted = Some(persisted);
        self
    }

    /// Sets whether there are write routes, for the fields that the schema declares writable. `SPEC §11`
    pub fn mutations(mut self, on: bool) -> Self {
        self.mutations = on;
        self
    }

    /// Sets the board that changes are posted to, for writers outside of this application.
    pub fn changes(mut self, changes: Changes) -> Self {
        self.changes = changes;
        self
    }

    /// Sets the origins of pages that may send requests. `SPEC §12.5`
    pub fn cors(mut self, cors: Cors) -> Self {
        self.cors = Some(cors);
        self
    }

    /// Serves event streams of the changes on the board of [`AppBuilder::changes`]. `SPEC §10`
    pub fn events(mut self, events: Events) -> Self {
        self.events = Some(events);
        self
    }

    /// Serves the playground and the introspection, beside the base path. `SPEC §13`
    pub fn docs(mut self, options: Options) -> Self {
        self.docs = Some(options);
        self
    }

    /// Adds a route of the application at a path under the base path, such as `post/:id`. It has precedence over the
    /// protocol's routes.
    pub fn route(mut self, method: Method, pattern: &str, handler: impl Handler) -> Self {
        let pattern = Pattern::parse(pattern);
        let route = pattern.map(|pattern| CustomRoute { method, pattern, handler: Arc::new(handler) });
        self.custom_routes.push(route);
        self
    }

    /// Accepts files for the fields that the schema declares under `uploads`. `SPEC §9`
    pub fn uploads(mut self, uploads: Uploads) -> Self {
        self.uploads = Some(uploads);
        self
    }

    /// Builds the application.
    ///
    /// # Errors
    /// [`BuildError`] if options do not fit the schema or each other.
    pub fn build(self) -> Result<App, BuildError> {
        let takes_files = |mesh: &Mesh| {
            mesh.schema()
                .entities()
                .any(|(_, entity)| entity.fields.iter().any(|field| field.upload.is_some()))
        };
        if self.uploads.is_some() && !takes_files(&self.mesh) {
            return Err(BuildError::NoUploadField);
        }
        let mut profiles = Profiles {
            integrity: self.integrity.is_some(),
            persisted: self.persisted.is_some(),
            mutations: self.mutations,
            events: self.events.is_some(),
            uploads: self.uploads.is_some(),
            ..Profiles::default()
        };
        if let Some(uploads) = &self.uploads {
            profiles.files = uploads.path.clone();
        }
        let docs = self.docs.map(|options| docs(&self.mesh, options, &self.base, &profiles)).transpose()?;
        let hub = self.events.map(|events| {
            let events = events.read_timeout(self.limits.request_timeout);
            Hub::new(Arc::clone(&self.mesh), self.changes.clone(), events)
        });
        Ok(App {
            shared: Arc::new(Shared {
                header_plans: HeaderPlans::new(&self.mesh),
                mesh: self.mesh,
                base: self.base,
                admission: AdmissionLimit::new(self.limits.requests),
                limits: self.limits,
                profiles,
                rates: self.rates,
                proxies: self.proxies,
                integrity: self.integrity,
                persisted: self.persisted.map(Arc::new),
                uploads: self.uploads,
                custom_routes: custom_routes(self.custom_routes)?,
                changes: self.changes,
                hub,
                docs,
                cors: self.cors,
                metrics: self.metrics,
                server_timing: self.server_timing,
                #[cfg(feature = "otlp")]
                spans: self.spans,
                admin: self.admin,
                ids: Ids::new(),
            }),
        })
    }
}

fn custom_routes(
    routes: Vec<Result<CustomRoute, PatternError>>,
) -> Result<Vec<Arc<CustomRoute>>, BuildError> {
    let mut built: Vec<Arc<CustomRoute>> = Vec::with_capacity(routes.len());
    for route in routes {
        let route = route.map_err(BuildError::Pattern)?;
        if built.iter().any(|other| other.method == route.method && other.pattern == route.pattern) {
            let pattern = route.pattern.to_string();
            return Err(BuildError::RepeatedRoute { method: route.method, pattern });
        }
        built.push(Arc::new(route));
    }
    Ok(built)
}

fn docs(
    mesh: &Arc<Mesh>,
    options: Options,
    base: &BasePath,
    profiles: &Profiles,
) -> Result<Docs, BuildError> {
    if options.path == base.as_str() {
        return Err(BuildError::DocsAtBasePath(base.clone()));
    }
    let offers = Offers {
        base: base.to_string(),
        integrity: profiles.integrity,
        persisted: profiles.persisted,
        events: profiles.events,
        ..options.offers.clone()
    };
    Ok(Docs::new(Arc::clone(mesh), options.offers(offers)))
}
