//! What is a server made of? The settings' parts, put together into an application for a schema.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mesh_docs::{Access, Offers, Options};
use mesh_integrity::{Binding, Gate, Keys, Secret, UsersTable};
use mesh_plan::{Changes, CursorKey, MemoryQueries, Mesh, Persisted, Registration};
use mesh_ql::Format;
use mesh_schema::Schema;
use mesh_server::{Admin, App, Events, Health, Integrity, Rates, Uploads};
use mesh_sqlite::StateLimits;
use mesh_uploads::FileStore;
use mesh_wire::Cors;
use serde_json::Value;

use crate::cli::failure::Failure;
use crate::cli::server::admin;
use crate::cli::server::database::{Database, State, Writer};
use crate::cli::server::database_url::DatabaseUrl;
use crate::config::{Config, DocsAuth, Store, Users};

/// The text of registered queries that is kept in memory.
const QUERY_TEXT_BYTES: usize = 32 << 20;
/// What tells the key of cursors from the other keys of the same secret.
const CURSOR_LABEL: &str = "mesh cursor";

/// What applications are made of beside their schema: made once, and kept when the schema changes.
pub(crate) struct Parts {
    config: Config,
    database: Option<Database>,
    writer: Option<Writer>,
    cursor_key: Option<CursorKey>,
    changes: Changes,
    integrity: Option<Integrity>,
    state: Option<State>,
    uploads: Option<Uploads>,
    cors: Option<Cors>,
    rates: Rates,
    admin: Admin,
    #[cfg(feature = "otlp")]
    spans: Option<mesh_server::otlp::Spans>,
}

impl Parts {
    /// Opens all that the settings ask for.
    pub(crate) async fn open(config: &Config, database: Option<Database>) -> Result<Self, Failure> {
        let database = database.map(|database| match database {
            Database::Sqlite(database) => Database::Sqlite(
                database.response_cache(config.cache.responses).memory_map(config.sqlite.mmap),
            ),
            database @ Database::Postgres(_) => database,
        });
        #[cfg(not(feature = "otlp"))]
        admin::no_spans(config)?;
        let writes = config.mutations.enabled || config.uploads.enabled;
        let writer = database.as_ref().filter(|_| writes).map(Database::writer).transpose()?;
        let secret = secret(config)?;
        let state = state(config, database.as_ref()).await;
        let changes = Changes::new();
        if config.events.enabled
            && let Some(database) = &database
        {
            tokio::spawn(database.watch(changes.clone())?);
        }
        let integrity = match &secret {
            Some(secret) => Some(integrity(config, secret, database.as_ref(), state.as_ref()).await?),
            None => None,
        };
        let cors = &config.cors.origins;
        Ok(Self {
            config: config.clone(),
            admin: admin::admin(database.as_ref()),
            #[cfg(feature = "otlp")]
            spans: admin::spans(config)?,
            database,
            writer,
            cursor_key: secret.map(|secret| CursorKey::new(&secret.derive(CURSOR_LABEL))),
            changes,
            integrity,
            state,
            uploads: if config.uploads.enabled { Some(uploads(config)?) } else { None },
            cors: if cors.is_empty() { None } else { Some(Cors::new(cors).map_err(Failure::start)?) },
            rates: Rates::new().per_address(config.limits.per_address).per_session(config.limits.per_session),
        })
    }

    /// The settings.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Health and numbers.
    pub(crate) fn admin(&self) -> &Admin {
        &self.admin
    }

    /// Whether the server can do its work.
    pub(crate) fn health(&self) -> &Health {
        self.admin.health()
    }

    /// What is read.
    pub(crate) fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The application of that schema.
    pub(crate) fn app(&self, schema: Schema) -> Result<App, Failure> {
        let config = &self.config;
        let takes_writes =
            schema.entities().any(|(_, entity)| entity.fields.iter().any(|field| field.writable));
        if config.mutations.enabled && !takes_writes {
            tracing::warn!(
                "write routes are on, but nothing is writable: say which fields are, with 'writable' in the \
                 schema document (`mesh-server introspect` writes one to begin with)"
            );
        }
        let mut mesh = Mesh::builder(schema).limits(config.plan_limits());
        if let Some(key) = &self.cursor_key {
            mesh = mesh.cursor_key(key.clone());
        }
        if let Some(database) = &self.database {
            mesh = database.serve(mesh, self.writer.as_ref());
        }
        let mesh = Arc::new(mesh.build());
        let mut app = App::new(Arc::clone(&mesh))
            .at(config.base.clone())
            .limits(config.transport_limits())
            .rates(self.rates.clone())
            .trusted_proxies(config.trusted_proxies.clone())
            .mutations(config.mutations.enabled);
        app = app.server_timing(config.server_timing);
        #[cfg(feature = "otlp")]
        if let Some(spans) = &self.spans {
            app = app.spans(spans.clone());
        }
        app = match config.admin.listen {
            None => app.admin(self.admin.clone()),
            Some(_) => app.metrics(self.admin.metrics().clone()),
        };
        if config.events.enabled {
            app = app.changes(self.changes.clone()).events(Events::new().heartbeat(config.events.heartbeat));
        }
        if let Some(integrity) = &self.integrity {
            app = app.integrity(integrity.clone());
        }
        if config.persisted.enabled {
            app = app.persisted(persisted(config, &mesh, self.state.as_ref())?);
        }
        if let Some(uploads) = &self.uploads {
            app = app.uploads(uploads.clone());
        }
        if let Some(cors) = &self.cors {
            app = app.cors(cors.clone());
        }
        if config.docs.enabled {
            app = app.docs(docs(config));
        }
        Ok(app)
    }
}

/// The playground as the settings have it.
fn docs(config: &Config) -> Options {
    let settings = &config.docs;
    let auth = match settings.auth {
        DocsAuth::Open => Access::Open,
        DocsAuth::Admin => Access::Admin,
    };
    let binding = config.integrity.enabled && config.integrity.binding == Binding::Require;
    let offers = Offers { binding, ..Offers::default() };
    let options =
        Options::default().path(&settings.path).title(settings.title.as_str()).theme(settings.theme);
    let options = options.auth(auth).sql(settings.sql).offers(offers);
    if settings.entities.is_empty() { options } else { options.entities(settings.entities.iter().cloned()) }
}

/// The secret of the deployment, where requests are signed.
pub(crate) fn secret(config: &Config) -> Result<Option<Secret>, Failure> {
    let integrity = &config.integrity;
    if !integrity.enabled {
        return Ok(None);
    }
    let bytes = match (&integrity.secret, &integrity.secret_file) {
        (Some(secret), _) => secret.0.clone().into_bytes(),
        (None, Some(path)) => {
            let mut bytes = fs::read(path).map_err(|error| {
                Failure::start(format!("cannot read the secret in {}: {error}", path.display()))
            })?;
            // Editors end a file with a line break, which nobody means to be part of the secret.
            bytes.truncate(bytes.trim_ascii_end().len());
            bytes
        }
        (None, None) => {
            return Err(Failure::start(
                "'integrity.enabled' needs a secret: write 'integrity.secret_file', or 'integrity.secret' with \
                 at least 32 random bytes, such as `openssl rand -hex 32` prints",
            ));
        }
    };
    Secret::new(bytes).map(Some).map_err(|error| Failure::start(format!("'integrity.secret': {error}")))
}

/// Who may log in, and how requests are signed.
pub(crate) async fn integrity(
    config: &Config,
    secret: &Secret,
    database: Option<&Database>,
    state: Option<&State>,
) -> Result<Integrity, Failure> {
    let settings = &config.integrity;
    let mut keys = Keys::new(secret);
    for previous in &settings.previous_secrets {
        let previous = Secret::new(previous.0.clone().into_bytes());
        let previous =
            previous.map_err(|error| Failure::start(format!("'integrity.previous_secrets': {error}")))?;
        keys = keys.with_previous(&previous);
    }
    let mut gate = Gate::new(keys)
        .lifetime(settings.ttl)
        .binding(settings.binding)
        .replay_window(settings.replay_window);
    if let Some(state) = state {
        gate = gate.revocations(Arc::clone(&state.revocations)).nonces(Arc::clone(&state.nonces));
    }
    let database = database.ok_or_else(|| Failure::start("'integrity.users' needs a database"))?;
    let accounts = database.accounts(&users(&settings.users)).await?;
    let integrity = Integrity::new(gate, accounts).login_per_minute(config.limits.login_per_minute);
    Ok(match state.and_then(|state| state.attempts.clone()) {
        Some(store) => integrity.attempts(store),
        None => integrity,
    })
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

/// What outlives the server, where it can be written; only a warning says that it cannot.
async fn state(config: &Config, database: Option<&Database>) -> Option<State> {
    if config.state.store == Store::Memory || !(config.integrity.enabled || config.persisted.enabled) {
        return None;
    }
    let lost = "ended sessions and registered queries are kept in memory only";
    if let Some(Database::Postgres(database)) = database {
        return match database.state(config.persisted.max_entries).await {
            Ok(state) => Some(State::of(state.clone()).with_attempts(state)),
            Err(error) => {
                tracing::warn!("{error}; {lost}");
                None
            }
        };
    }
    let path = state_path(config)?;
    let limits = StateLimits { queries: config.persisted.max_entries, ..StateLimits::default() };
    match mesh_sqlite::State::open(&path, limits) {
        Ok(state) => Some(State::of(state)),
        Err(error) => {
            tracing::warn!("{error}; {lost}");
            None
        }
    }
}

fn state_path(config: &Config) -> Option<PathBuf> {
    let beside = || match DatabaseUrl::parse(config.database.as_deref()?) {
        Ok(DatabaseUrl::Sqlite(path)) => Some(mesh_sqlite::State::beside(&path)),
        _ => None,
    };
    config.state.path.clone().or_else(beside)
}

/// The queries that can be asked for by id, those of the file that settings name among them.
pub(crate) fn persisted(config: &Config, mesh: &Mesh, state: Option<&State>) -> Result<Persisted, Failure> {
    let settings = &config.persisted;
    let default = if config.integrity.enabled { Registration::Signed } else { Registration::Open };
    let mut persisted = Persisted::new(settings.registration.unwrap_or(default))
        .only(settings.only)
        .memory(MemoryQueries::new(settings.max_entries, QUERY_TEXT_BYTES));
    if let Some(state) = state {
        persisted = persisted.store(Arc::clone(&state.queries));
    }
    if let Some(path) = &settings.preload {
        preload(&mut persisted, mesh, path)?;
    }
    Ok(persisted)
}

/// Takes in a file of queries: an array of `{query, format?}`.
fn preload(persisted: &mut Persisted, mesh: &Mesh, path: &Path) -> Result<(), Failure> {
    let name = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::start(format!("cannot read the queries in {name}: {error}")))?;
    let queries: Vec<Value> = serde_json::from_str(&text)
        .map_err(|error| Failure::start(format!("{name}: not an array of {{query, format?}}: {error}")))?;
    for (index, entry) in queries.iter().enumerate() {
        let refuse = |why: String| Failure::start(format!("{name}: query {}: {why}", index + 1));
        let query = entry.get("query").and_then(Value::as_str);
        let query = query.ok_or_else(|| refuse("'query' must be there, as a string".to_owned()))?;
        let format = match entry.get("format") {
            None => Format::Json,
            Some(format) => format
                .as_str()
                .and_then(Format::parse)
                .ok_or_else(|| refuse("'format' must be \"json\" or \"ql\"".to_owned()))?,
        };
        let id = persisted.preload(mesh, format, query).map_err(|error| refuse(error.to_string()))?;
        tracing::info!("{name}: query {} is {id}", index + 1);
    }
    Ok(())
}

/// The store of files.
pub(crate) fn uploads(config: &Config) -> Result<Uploads, Failure> {
    let settings = &config.uploads;
    let uploads = match settings.store.split_once(':') {
        Some(("file", folder)) if !folder.is_empty() => {
            let store = FileStore::open(folder)
                .map_err(|error| Failure::start(format!("cannot store files in {folder}: {error}")))?;
            Uploads::new(store)
        }
        #[cfg(feature = "s3")]
        Some(("s3", _)) => Uploads::new(bucket(&settings.store)?),
        #[cfg(not(feature = "s3"))]
        Some(("s3", _)) => {
            return Err(Failure::start(
                "'uploads.store': this server was built without the feature 's3'; build it with `--features s3`",
            ));
        }
        _ => {
            return Err(Failure::start(format!(
                "'uploads.store' must be 'file:FOLDER' or 's3://bucket/prefix', not '{}'",
                settings.store
            )));
        }
    };
    let max_bytes = u64::try_from(settings.max_bytes).unwrap_or(u64::MAX);
    Ok(uploads.at(settings.path.clone()).max_bytes(max_bytes).content_types(settings.content_types.clone()))
}

/// A bucket, reached as the `AWS_` variables of other S3 tools say.
#[cfg(feature = "s3")]
fn bucket(url: &str) -> Result<mesh_uploads::S3Store, Failure> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let instance = format!("{}-{}", std::process::id(), since.as_nanos());
    let settings = std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
    let options = mesh_uploads::S3Options { settings, ..mesh_uploads::S3Options::new(url, instance) };
    mesh_uploads::S3Store::new(options).map_err(Failure::start)
}
