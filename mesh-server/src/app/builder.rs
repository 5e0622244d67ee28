//! The builder of an application.

use std::sync::Arc;

use mesh_docs::{Docs, Offers};
use mesh_plan::Mesh;
use mesh_wire::Profiles;

use super::App;
use super::build_error::BuildError;
use super::ids::Ids;
use super::options::AppOptions;
use super::shared::Shared;
use crate::events::Hub;
use crate::identity::caller::{Caller, Evidence};
#[cfg(feature = "mcp")]
use crate::mcp::{self, PreparedTools};
use crate::pipeline::query::Queries;

/// The builder of an [`App`]. Set the options that differ from their defaults, and call [`AppBuilder::build`].
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
/// let mut app = App::builder(mesh);
/// app.options.authenticator.bearer = Some(bearer.clone());
/// let app = app.build()?;
/// // When the issuer has new keys: bearer.set_keys(keys);
/// # Ok(app)
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an application is made by `build`"]
pub struct AppBuilder {
    /// The core, which plans and reads.
    pub mesh: Arc<Mesh>,
    /// The options.
    pub options: AppOptions,
}

impl App {
    /// Begins an application at the base path `/mesh` with the protocol's limits.
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
    /// let mut app = App::builder(mesh);
    /// app.options.server_timing = true;
    /// let app = app.build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(mesh: impl Into<Arc<Mesh>>) -> AppBuilder {
        AppBuilder { mesh: mesh.into(), options: AppOptions::default() }
    }
}

impl AppBuilder {
    /// Builds the application.
    ///
    /// # Errors
    /// [`BuildError`] if options do not fit the schema or each other.
    pub fn build(mut self) -> Result<App, BuildError> {
        let schema = self.mesh.schema();
        if let Some(key) = self.options.caching.entities.keys().find(|key| schema.find(key).is_none()) {
            return Err(BuildError::UnknownCachedEntity(key.clone()));
        }
        self.prepare_authenticator();
        let profiles = self.profiles()?;
        let docs = self.prepared_docs()?;
        #[cfg(feature = "mcp")]
        let mcp = self.prepared_tools()?;
        let is_private = self.options.authenticator.identifies_callers() || self.mesh.has_policies();
        let caching = self.options.caching.values(is_private, &self.options.base_path);
        let options = self.options;
        let hub = options.events.as_ref().map(|events| {
            let (mesh, unread) = (Arc::clone(&self.mesh), Arc::clone(&options.client_limits.unread));
            Hub::new(mesh, options.changes.clone(), unread, events.heartbeat, options.limits.request_timeout)
        });
        let mut queries = Queries::new(Arc::clone(&self.mesh));
        queries.persisted.clone_from(&options.persisted);
        let metrics = options.metrics.clone().or_else(|| Some(options.admin.as_ref()?.metrics.clone()));
        let shared = Shared {
            mesh: self.mesh,
            queries,
            profiles,
            hub,
            docs,
            #[cfg(feature = "mcp")]
            mcp,
            caching,
            metrics,
            ids: Ids::new(),
            options,
        };
        Ok(App { shared: Arc::new(shared) })
    }

    fn prepare_authenticator(&mut self) {
        self.options.authenticator.failures = self.options.rates.failures.clone();
        if !self.options.authenticator.identifies_callers() {
            // An anonymous role applies only if callers can have credentials, a local principal only if they cannot.
            let local = self.options.local_principal.take();
            self.options.authenticator.local = local.map(|principal| Caller::new(Evidence::Local, principal));
            self.options.authenticator.anonymous = None;
        }
    }

    /// Returns the profiles of the protocol that the application offers.
    fn profiles(&self) -> Result<Profiles, BuildError> {
        let mut profiles = Profiles {
            integrity: self.options.authenticator.integrity.is_some(),
            persisted: self.options.persisted.is_some(),
            events: self.options.events.is_some(),
            uploads: self.options.uploads.is_some(),
            mutations: self.options.mutations,
            ..Profiles::default()
        };
        if let Some(uploads) = &self.options.uploads {
            uploads.max_bytes(self.mesh.schema()).ok_or(BuildError::NoUploadField)?;
            profiles.files = uploads.path.clone();
        }
        Ok(profiles)
    }

    /// Prepares the tools for agents.
    #[cfg(feature = "mcp")]
    fn prepared_tools(&mut self) -> Result<Option<PreparedTools>, BuildError> {
        let Some(tools) = self.options.mcp.take() else { return Ok(None) };
        self.options.cors = self.options.cors.take().map(|cors| cors.with_request_headers(&mcp::HEADERS));
        tools.prepare(&self.mesh, &self.options.base_path, self.options.mutations).map(Some)
    }

    /// Prepares the docs surface. It must not hide other routes, nor view data as another role without an audit log.
    fn prepared_docs(&mut self) -> Result<Option<Docs>, BuildError> {
        let Some(options) = self.options.docs.take() else { return Ok(None) };
        if options.claims(self.options.base_path.as_str()) {
            return Err(BuildError::DocsAtBasePath(self.options.base_path.clone()));
        }
        #[cfg(feature = "mcp")]
        if let Some(path) = self.options.mcp.as_ref().map(|_| mcp::path(&self.options.base_path))
            && options.claims(&path)
        {
            return Err(BuildError::DocsAtMcpPath(path));
        }
        if !options.view_as.is_empty() && self.options.audit.is_none() {
            return Err(BuildError::ViewAsWithoutAudit);
        }
        let offers = Offers {
            base: self.options.base_path.to_string(),
            integrity: self.options.authenticator.integrity.is_some(),
            bearer: self.options.authenticator.can_authenticate(),
            persisted: self.options.persisted.is_some(),
            events: self.options.events.is_some(),
            exports: self.options.exports.is_some(),
            mutations: self.options.mutations,
            cors: self.options.cors.is_some(),
            ..options.offers.clone()
        };
        Ok(Some(Docs::new(Arc::clone(&self.mesh), options.offers(offers))))
    }
}
