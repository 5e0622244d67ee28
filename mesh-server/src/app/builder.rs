//! The builder of an application.

#[cfg(feature = "tower")]
use std::convert::Infallible;
use std::sync::Arc;

use mesh_docs::{Docs, Offers, Options};
use mesh_plan::persisted::Persisted;
use mesh_plan::{Changes, Mesh, Principal};
use mesh_wire::request::AllowedHosts;
use mesh_wire::{BasePath, Cors, Profiles};

use super::App;
use super::build_error::BuildError;
use super::caching::Caching;
use super::exports::Exports;
#[cfg(feature = "tower")]
use super::fallback::Fallback;
use super::ids::Ids;
use super::limits::TransportLimits;
use super::shared::Shared;
use crate::clients::ClientLimits;
use crate::events::{Events, Hub};
use crate::identity::api_keys::ApiKeys;
use crate::identity::authenticator::RequestAuthenticator;
use crate::identity::bearer::Bearer;
use crate::identity::caller::{Caller, Evidence};
use crate::integrity::Integrity;
#[cfg(feature = "mcp")]
use crate::mcp::Mcp;
use crate::observability::admin::Admin;
use crate::observability::audit::AuditLog;
use crate::observability::metrics::Metrics;
#[cfg(feature = "otlp")]
use crate::observability::otlp::Spans;
#[cfg(feature = "tower")]
use crate::pipeline::body::{Body, BoxError};
use crate::pipeline::query::Queries;
use crate::rates::Rates;
use crate::rates::client_address::Proxies;
use crate::uploads::Uploads;

/// A builder for an [`App`].
#[derive(Debug)]
#[must_use = "an application is made by `build`"]
pub struct AppBuilder {
    /// The parts that do not depend on other parts. `build` adds the rest.
    shared: Shared,
    events: Option<Events>,
    docs: Option<Options>,
    caching: Caching,
    local: Option<Caller>,
    #[cfg(feature = "mcp")]
    mcp: Option<Mcp>,
}

impl App {
    /// Returns a builder for an application at the base path `/mesh` with the protocol's limits.
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
        let mesh = mesh.into();
        let limits = TransportLimits::default();
        let shared = Shared {
            queries: Queries::new(Arc::clone(&mesh)),
            mesh,
            base: BasePath::default(),
            limits,
            profiles: Profiles::default(),
            rates: Rates::default(),
            clients: ClientLimits::default(),
            proxies: Proxies::default(),
            hosts: AllowedHosts::default(),
            authenticator: RequestAuthenticator::default(),
            uploads: None,
            #[cfg(feature = "tower")]
            fallback: None,
            changes: Changes::new(),
            hub: None,
            exports: None,
            docs: None,
            #[cfg(feature = "mcp")]
            mcp: None,
            cors: None,
            caching: Caching::default().values(true, &BasePath::default()),
            metrics: None,
            audit: None,
            server_timing: false,
            #[cfg(feature = "otlp")]
            spans: None,
            admin: None,
            ids: Ids::new(),
        };
        AppBuilder {
            shared,
            events: None,
            docs: None,
            caching: Caching::default(),
            local: None,
            #[cfg(feature = "mcp")]
            mcp: None,
        }
    }
}

impl AppBuilder {
    /// Sets the base path.
    pub fn base_path(mut self, base: BasePath) -> Self {
        self.shared.base = base;
        self
    }

    /// Sets the limits of the transport.
    pub fn limits(mut self, limits: TransportLimits) -> Self {
        self.shared.limits = limits;
        self
    }

    /// Sets the rate limits. `SPEC §12.6`
    pub fn rates(mut self, rates: Rates) -> Self {
        self.shared.rates = rates;
        self
    }

    /// Sets the limits on the resources that clients may hold at a time. `SPEC §12.6`
    pub fn client_limits(mut self, limits: ClientLimits) -> Self {
        self.shared.clients = limits;
        self
    }

    /// Sets the proxies whose `X-Forwarded-For` is trusted. `SPEC §12.1`
    pub fn trusted_proxies(mut self, proxies: Proxies) -> Self {
        self.shared.proxies = proxies;
        self
    }

    /// Sets the server names that requests may have in `Host`; by default, any name is accepted. `SPEC §2.13`
    pub fn allowed_hosts(mut self, hosts: AllowedHosts) -> Self {
        self.shared.hosts = hosts;
        self
    }

    /// Sets the metrics that count the requests.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.shared.metrics = Some(metrics);
        self
    }

    /// Sets the audit log.
    pub fn audit(mut self, audit: AuditLog) -> Self {
        self.shared.audit = Some(audit);
        self
    }

    /// Sets whether replies to reads have the header `Server-Timing`.
    pub fn server_timing(mut self, on: bool) -> Self {
        self.shared.server_timing = on;
        self
    }

    /// Sends a span for each request to a collector.
    #[cfg(feature = "otlp")]
    pub fn spans(mut self, spans: Spans) -> Self {
        self.shared.spans = Some(spans);
        self
    }

    /// Serves `/healthz`, `/readyz` and `/metrics` beside the base path, without authentication.
    /// [`Admin::serve`] serves them on an address of their own instead.
    pub fn admin(mut self, admin: Admin) -> Self {
        self.shared.metrics = Some(admin.metrics().clone());
        self.shared.admin = Some(admin);
        self
    }

    /// Requires sessions: every request except login and logout must be signed, unless [`AppBuilder::bearer`] allows
    /// otherwise. `SPEC §7`
    pub fn integrity(mut self, integrity: Integrity) -> Self {
        self.shared.authenticator.integrity = Some(integrity);
        self
    }

    /// Requires bearers: every request needs a JWT of an issuer in `Authorization: Bearer`. With [`AppBuilder::integrity`],
    /// signed requests of a session are accepted too, and bearers can be exchanged for sessions. `SPEC §17`
    ///
    /// ```
    /// use mesh_plan::Mesh;
    /// use mesh_server::mesh_integrity::bearer::{BearerVerifier, KeySet};
    /// use mesh_server::{App, Bearer};
    ///
    /// # fn app(mesh: Mesh, jwks: &[u8]) -> Result<App, Box<dyn std::error::Error>> {
    /// let verifier = BearerVerifier::new()
    ///     .issuer("https://login.example.com/")
    ///     .audience(["https://api.example.com"])
    ///     .role("realm_access.roles")
    ///     .claims(["teamIds"]);
    /// let bearer = Bearer::new(verifier, KeySet::from_jwks(jwks)?);
    /// let app = App::builder(mesh).bearer(bearer.clone()).build()?;
    /// // When the issuer has new keys: bearer.set_keys(keys);
    /// # Ok(app)
    /// # }
    /// ```
    pub fn bearer(mut self, bearer: Bearer) -> Self {
        self.shared.authenticator.bearer = Some(bearer);
        self
    }

    /// Accepts API keys in `Authorization: Bearer`. `SPEC §17.3`
    pub fn api_keys(mut self, keys: ApiKeys) -> Self {
        self.shared.authenticator.api_keys = Some(keys);
        self
    }

    /// Sets whether callers with a bearer may read without a signature even if [`AppBuilder::integrity`] is set; by default
    /// they may. All other requests need the signature of a session. `SPEC §17.5`
    pub fn allow_unsigned_bearers(mut self, on: bool) -> Self {
        self.shared.authenticator.allows_unsigned_bearers = on;
        self
    }

    /// Sets the role of requests without any credentials, if [`AppBuilder::integrity`], [`AppBuilder::bearer`] or
    /// [`AppBuilder::api_keys`] is set. Without such a role, these requests are refused.
    /// `SPEC §17.6`
    pub fn anonymous_role(mut self, role: impl Into<String>) -> Self {
        self.shared.authenticator.anonymous = Some(Caller::anonymous(role));
        self
    }

    /// Sets the principal of all requests, for an application that serves one client of this process and no network. It has
    /// no effect if callers have to identify themselves.
    pub fn local_principal(mut self, principal: Principal) -> Self {
        self.local = Some(Caller::new(Evidence::Local, principal));
        self
    }

    /// Serves tools for agents at `mcp` under the base path, with the Model Context Protocol.
    #[cfg(feature = "mcp")]
    pub fn mcp(mut self, tools: Mcp) -> Self {
        self.mcp = Some(tools);
        self
    }

    /// Serves registered queries, which must have been checked against the same [`Mesh`]. `SPEC §8`
    pub fn persisted(mut self, persisted: Persisted) -> Self {
        self.shared.queries = self.shared.queries.persisted(persisted);
        self
    }

    /// Sets whether there are write routes, for the fields that the schema declares writable. `SPEC §11`
    pub fn mutations(mut self, on: bool) -> Self {
        self.shared.profiles.mutations = on;
        self
    }

    /// Sets the channel on which changes are announced, for writers outside of this application.
    pub fn changes(mut self, changes: Changes) -> Self {
        self.shared.changes = changes;
        self
    }

    /// Sets the origins of pages that may send requests. `SPEC §12.5`
    pub fn cors(mut self, cors: Cors) -> Self {
        self.shared.cors = Some(cors);
        self
    }

    /// Sets how long caches may keep replies to reads by GET. Replies that depend on the caller, because of integrity or
    /// policies, are always private. `SPEC §12.3`
    pub fn caching(mut self, caching: Caching) -> Self {
        self.caching = caching;
        self
    }

    /// Serves event streams of the changes that [`AppBuilder::changes`] announces. `SPEC §10`
    pub fn events(mut self, events: Events) -> Self {
        self.events = Some(events);
        self
    }

    /// Serves exports of collections as NDJSON and CSV. `SPEC §16`
    pub fn exports(mut self, exports: Exports) -> Self {
        self.shared.exports = Some(exports);
        self
    }

    /// Serves the playground and the introspection, beside the base path. `SPEC §13`
    pub fn docs(mut self, options: Options) -> Self {
        self.docs = Some(options);
        self
    }

    /// Sets the service that answers requests to paths outside of the base path and of the docs surface, for example an
    /// axum `Router`. Limits of Mesh for all requests apply to it, authentication does not.
    #[cfg(feature = "tower")]
    pub fn fallback<S, B>(mut self, service: S) -> Self
    where
        S: tower_service::Service<http::Request<Body>, Response = http::Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.shared.fallback = Some(Fallback::new(service));
        self
    }

    /// Accepts files for the fields that the schema declares under `uploads`. `SPEC §9`
    pub fn uploads(mut self, uploads: Uploads) -> Self {
        self.shared.uploads = Some(uploads);
        self
    }

    /// Builds the application.
    ///
    /// # Errors
    /// [`BuildError`] if options do not fit the schema or each other.
    pub fn build(self) -> Result<App, BuildError> {
        #[cfg(feature = "mcp")]
        let prepared = self.prepared_tools()?;
        let Self { mut shared, events, docs, caching, local, .. } = self;
        #[cfg(feature = "mcp")]
        {
            if prepared.is_some() {
                shared.cors = shared.cors.map(|cors| cors.with_request_headers(&crate::mcp::HEADERS));
            }
            shared.mcp = prepared;
        }
        let schema = shared.mesh.schema();
        if let Some(key) = caching.entities().find(|key| schema.find(key).is_none()) {
            return Err(BuildError::UnknownCachedEntity(key.to_owned()));
        }
        shared.authenticator.failures = Arc::clone(&shared.rates.failures);
        if !shared.identifies_callers() {
            // An anonymous role applies only if callers can have credentials, a local principal only if they cannot.
            shared.authenticator.anonymous = None;
            shared.authenticator.local = local;
        }
        let is_private = shared.identifies_callers() || shared.mesh.has_policies();
        shared.caching = caching.values(is_private, &shared.base);
        if let Some(uploads) = &mut shared.uploads {
            uploads.measure(shared.mesh.schema());
            let mut fields = shared.mesh.schema().entities().flat_map(|(_, entity)| &entity.fields);
            if !fields.any(|field| field.upload.is_some()) {
                return Err(BuildError::NoUploadField);
            }
            shared.profiles.files = uploads.path.clone();
        }
        shared.profiles = Profiles {
            integrity: shared.authenticator.integrity.is_some(),
            persisted: shared.queries.persisted.is_some(),
            events: events.is_some(),
            uploads: shared.uploads.is_some(),
            ..shared.profiles
        };
        if let Some(options) = docs {
            check_docs(&shared, &options)?;
            let offers = Offers {
                base: shared.base.to_string(),
                integrity: shared.profiles.integrity,
                bearer: shared.authenticator.can_authenticate(),
                persisted: shared.profiles.persisted,
                events: shared.profiles.events,
                exports: shared.exports.is_some(),
                mutations: shared.profiles.mutations,
                cors: shared.cors.is_some(),
                ..options.offers.clone()
            };
            shared.docs = Some(Docs::new(Arc::clone(&shared.mesh), options.offers(offers)));
        }
        shared.hub = events.map(|events| {
            let timeout = shared.limits.request_timeout;
            let (mesh, unread) = (Arc::clone(&shared.mesh), Arc::clone(&shared.clients.unread));
            Hub::new(mesh, shared.changes.clone(), unread, events.heartbeat, timeout)
        });
        Ok(App { shared: Arc::new(shared) })
    }

    /// Prepares the tools for agents.
    #[cfg(feature = "mcp")]
    fn prepared_tools(&self) -> Result<Option<crate::mcp::PreparedTools>, BuildError> {
        let Shared { mesh, base, profiles, .. } = &self.shared;
        let tools = self.mcp.clone();
        tools.map(|tools| tools.prepare(mesh, base, profiles.mutations)).transpose()
    }
}

/// Refuses a docs surface that hides other routes, or that views data as another role without an audit log.
fn check_docs(shared: &Shared, options: &Options) -> Result<(), BuildError> {
    if options.claims(shared.base.as_str()) {
        return Err(BuildError::DocsAtBasePath(shared.base.clone()));
    }
    #[cfg(feature = "mcp")]
    if let Some(tools) = shared.mcp.as_ref().filter(|tools| options.claims(&tools.path)) {
        return Err(BuildError::DocsAtMcpPath(tools.path.clone()));
    }
    if !options.view_as.is_empty() && shared.audit.is_none() {
        return Err(BuildError::ViewAsWithoutAudit);
    }
    Ok(())
}
