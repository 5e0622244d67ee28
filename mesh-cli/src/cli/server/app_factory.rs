//! Builds the application from settings, once at start and again for each new schema.

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mesh_backend::backend::StateStores;
use mesh_integrity::{
    Authenticator, Binding, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, MemoryNonces, Secret,
    UsersTable, unix_millis,
};
use mesh_plan::{Mesh, Mutator};
use mesh_schema::{Field, Schema};
use mesh_server::mesh_integrity::passwords::Accounts;
use mesh_server::otlp::Spans;
use mesh_server::{Admin, App, AppBuilder, AppOptions, Caller, Events, Exports, Integrity, Rates};
use mesh_wire::Cors;

use crate::cli::failure::Failure;
use crate::cli::server::api_keys::api_keys;
use crate::cli::server::bearer::{bearer, read_secret};
use crate::cli::server::data_source::nothing_to_serve;
use crate::cli::server::database::Database;
use crate::cli::server::internal_tables::served_internal_tables;
use crate::cli::server::queries::queries;
use crate::cli::server::state;
use crate::cli::server::uploads::uploads;
use crate::cli::server::{admin, audit, entity_settings};
use crate::config::{Config, McpTools, Users};

/// The name of this server in traces.
const SERVICE: &str = "mesh-server";
/// The label for deriving the secret of cursors.
const CURSOR_LABEL: &str = "mesh cursor";

/// The parts of an application that are kept when the schema changes.
pub(crate) struct AppFactory {
    pub(crate) config: Config,
    pub(crate) database: Option<Database>,
    /// Health checks and metrics.
    pub(crate) admin: Admin,
    /// The options that do not depend on the schema.
    pub(crate) options: AppOptions,
    writer: Option<Arc<dyn Mutator>>,
    cursor_secret: Option<[u8; 32]>,
    state: Option<StateStores>,
}

impl AppFactory {
    /// Opens everything that the settings turn on.
    pub(crate) async fn open(config: &Config, database: Option<Database>) -> Result<Self, Failure> {
        let writes = config.mutations.enabled || config.uploads.enabled;
        let writer =
            database.as_ref().filter(|_| writes).map(|database| database.open_writer()).transpose()?;
        let secret = secret(config)?;
        let admin = admin::admin(database.as_ref());
        let state = state::open(config, database.as_ref(), &admin.health).await?;
        let mut options = options(config)?;
        if config.follows_changes()
            && let Some(database) = &database
        {
            tokio::spawn(database.watch(options.changes.clone()));
        }
        let authenticator = &mut options.authenticator;
        if let Some(secret) = &secret {
            authenticator.integrity =
                Some(integrity(config, secret, database.as_ref(), state.as_ref()).await?);
        }
        authenticator.api_keys = api_keys(config, database.as_ref()).await?;
        authenticator.bearer = bearer(config, &admin.health).await?;
        authenticator.allows_unsigned_bearers = config.bearer.unsigned;
        if !config.bearer.anonymous.is_empty() {
            authenticator.anonymous = Some(Caller::anonymous(config.bearer.anonymous.as_str()));
        }
        options.audit = audit::start(config, database.as_ref(), &admin.metrics).await?;
        match config.admin.listen {
            None => options.admin = Some(admin.clone()),
            Some(_) => options.metrics = Some(admin.metrics.clone()),
        }
        let cursor_secret = secret.map(|secret| secret.derive(CURSOR_LABEL));
        Ok(Self { config: config.clone(), database, admin, options, writer, cursor_secret, state })
    }

    /// Builds the application for a schema.
    pub(crate) fn app(&self, schema: Schema) -> Result<App, Failure> {
        let config = &self.config;
        let has_field = |is_such: fn(&Field) -> bool| {
            schema.entities().any(|(_, entity)| entity.fields.iter().any(is_such))
        };
        if config.mutations.enabled && !schema.entities().any(|(_, entity)| entity.is_writable()) {
            tracing::warn!(
                "write routes are enabled, but nothing is writable: list the writable fields under 'writable' in the schema \
                 document (`mesh-server introspect` writes a document to start from)"
            );
        }
        let takes_files = has_field(|field| field.upload.is_some());
        if config.uploads.enabled && !takes_files {
            tracing::warn!(
                "uploads are on, but no field takes files: declare some under 'uploads' in the schema document"
            );
        }
        nothing_to_serve(config, &schema).iter().for_each(|warning| tracing::warn!("{warning}"));
        served_internal_tables(config, &schema).iter().for_each(|warning| tracing::warn!("{warning}"));
        let caching = entity_settings::caching(config, &schema)?;
        let mut mesh = Mesh::builder(schema).limits(config.plan_limits());
        if let Some(secret) = &self.cursor_secret {
            mesh = mesh.cursor_secret(secret);
        }
        if let Some(database) = &self.database {
            mesh = mesh.default_shared(Arc::clone(database) as _, self.writer.clone());
        }
        let mesh = Arc::new(mesh.build()?);
        if mesh.has_policies() {
            useless_caching(config).iter().for_each(|warning| tracing::warn!("{warning}"));
        }
        let mut options = self.options.clone();
        options.caching = caching;
        options.uploads = options.uploads.filter(|_| takes_files);
        if config.docs.enabled {
            options.docs = Some(entity_settings::docs(config, mesh.schema())?);
        }
        let (registry, tools) = queries(config, &mesh, self.state.as_ref())?;
        options.persisted = registry.map(Arc::new);
        options.mcp = (config.mcp.enabled != McpTools::Off).then_some(tools);
        AppBuilder { mesh, options }.build().map_err(Failure::usage_error)
    }
}

/// Returns the options that the settings alone determine.
fn options(config: &Config) -> Result<AppOptions, Failure> {
    let (limits, origins, otlp) = (&config.limits, &config.cors.origins, &config.otlp);
    let exports = || {
        let mut exports = Exports::default();
        (exports.timeout, exports.at_once) = (config.export.timeout, config.exports_at_once());
        exports
    };
    Ok(AppOptions {
        base_path: config.base.clone(),
        limits: config.transport_limits(),
        rates: Rates::default()
            .per_address(limits.per_address)
            .per_session(limits.per_session)
            .invalid_credentials_per_minute(limits.login_per_minute.saturating_mul(60)),
        client_limits: config.client_limits(),
        trusted_proxies: config.trusted_proxies.clone(),
        allowed_hosts: config.hosts(),
        mutations: config.mutations.enabled,
        server_timing: true,
        uploads: if config.uploads.enabled { Some(uploads(config)?) } else { None },
        events: config.events.enabled.then_some(Events { heartbeat: config.events.heartbeat }),
        exports: config.export.enabled.then(exports),
        cors: if origins.is_empty() { None } else { Some(Cors::new(origins)?) },
        spans: otlp.endpoint.clone().map(|url| {
            let headers = otlp.headers.iter().filter_map(|line| line.header()).collect();
            Spans::new(url, headers, SERVICE)
        }),
        ..AppOptions::default()
    })
}

/// Returns the secret of the deployment if requests are signed.
pub(crate) fn secret(config: &Config) -> Result<Option<Secret>, Failure> {
    let integrity = &config.integrity;
    if !integrity.enabled {
        return Ok(None);
    }
    let secret = read_secret("integrity", integrity.secret.as_ref(), integrity.secret_file.as_ref())?;
    secret.map(Some).ok_or_else(|| {
        Failure::usage_error(
            "'integrity.enabled' needs a secret: set 'integrity.secret_file', or 'integrity.secret' to at \
             least 32 random bytes, such as the output of `openssl rand -hex 32`",
        )
    })
}

/// Returns a warning if shared caches are configured but policies make all answers private.
fn useless_caching(config: &Config) -> Option<&'static str> {
    let caching = &config.caching;
    let is_shared = caching.control.is_shared() || !caching.purge.urls.is_empty() || caching.tags.is_some();
    is_shared.then_some(
        "[caching] has no effect on shared caches: the schema has policies, so all answers are private",
    )
}

/// Returns the earlier secrets of the deployment, or all their faults.
pub(crate) fn previous_secrets(config: &Config) -> Result<Vec<Secret>, Failure> {
    let (mut secrets, mut faults) = (Vec::new(), Vec::new());
    for previous in &config.integrity.previous_secrets {
        match Secret::new(previous.0.clone().into_bytes()) {
            Ok(secret) => secrets.push(secret),
            Err(error) => faults.push(format!("'integrity.previous_secrets': {error}")),
        }
    }
    Failure::check(faults)?;
    Ok(secrets)
}

/// Accounts that refuse all logins: sessions begin with bearers or API keys.
struct NoAccounts;

impl Authenticator for NoAccounts {
    fn authenticate<'a>(&'a self, _: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(ready(Err(LoginError::Wrong)))
    }
}

/// Returns the accounts of the database, or `None` if no table of accounts is configured.
pub(crate) async fn accounts(
    config: &Config,
    database: Option<&Database>,
) -> Result<Option<Accounts>, Failure> {
    if config.integrity.users.table.is_empty() {
        return Ok(None);
    }
    let database = database.ok_or_else(|| Failure::usage_error("'integrity.users' needs a database"))?;
    let accounts = database.accounts(&users(&config.integrity.users)).await;
    let accounts = accounts.map_err(|error| Failure::of_setting("integrity.users", error.faults()))?;
    Ok(Some(Accounts::new(accounts).await.map_err(Failure::usage_error)?))
}

/// Builds logins and the verification of signed requests.
async fn integrity(
    config: &Config,
    secret: &Secret,
    database: Option<&Database>,
    state: Option<&StateStores>,
) -> Result<Integrity, Failure> {
    let settings = &config.integrity;
    let keys = previous_secrets(config)?.iter().fold(Keys::new(secret), Keys::with_previous);
    let mut gate = Gate::new(keys)
        .lifetime(settings.ttl)
        .binding(settings.binding)
        .replay_window(settings.replay_window)
        .nonces_per_session(config.limits.nonces_per_session);
    let unknown_until = match state {
        Some(state) => {
            gate = gate.revocations(Arc::clone(&state.revocations)).nonces(Arc::clone(&state.nonces));
            state.unknown_until
        }
        None => {
            let start = unix_millis(SystemTime::now());
            gate = gate.nonces(Arc::new(MemoryNonces::after(start)));
            start
        }
    };
    if settings.binding != Binding::Off {
        wait_until_after(unknown_until).await;
    }
    let mut integrity = match accounts(config, database).await? {
        Some(accounts) => Integrity::new(gate, accounts),
        None => Integrity::new(gate, NoAccounts),
    };
    integrity.login_per_minute = config.limits.login_per_minute;
    integrity.attempts = state.and_then(|state| state.attempts.clone());
    Ok(integrity)
}

/// Waits until the second of the timestamp `unknown`, in which this server has taken over from another one, has passed; at
/// most one second. Until then, bound signatures of clients with correct clocks would be refused.
async fn wait_until_after(unknown: u64) {
    let end = (unknown / 1_000).saturating_add(1).saturating_mul(1_000);
    let left = end.saturating_sub(unix_millis(SystemTime::now()));
    tokio::time::sleep(Duration::from_millis(left.min(1_000))).await;
}

fn users(users: &Users) -> UsersTable {
    let optional = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
    UsersTable {
        table: users.table.clone(),
        id: users.id.clone(),
        login: users.login.clone(),
        password: users.password.clone(),
        role: optional(&users.role),
        tenant: optional(&users.tenant),
    }
}
