//! Which back end stands behind the commands? SQLite or PostgreSQL, told apart in this one place.

use std::future::Future;
use std::sync::Arc;

use mesh_integrity::{AttemptStore, NonceStore, RevocationStore, UsersTable};
use mesh_plan::{BoxFuture, Changes, MeshBuilder, Plan, QueryStore, ResolveError, Usage};
use mesh_postgres::Settings;
use mesh_schema::{Catalog, Schema};
use mesh_server::accounts::Accounts;

use crate::cli::failure::Failure;
use crate::cli::server::database_url::DatabaseUrl;
use crate::config::Config;

/// An open database.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    /// A file.
    Sqlite(mesh_sqlite::Database),
    /// A server.
    Postgres(mesh_postgres::Database),
}

/// Takes writes to an open database.
#[derive(Clone, Debug)]
pub(crate) enum Writer {
    /// To a file.
    Sqlite(mesh_sqlite::Writer),
    /// To a server.
    Postgres(mesh_postgres::Writer),
}

/// What outlives a server.
#[derive(Clone)]
pub(crate) struct State {
    /// Ended sessions.
    pub(crate) revocations: Arc<dyn RevocationStore>,
    /// Used nonces.
    pub(crate) nonces: Arc<dyn NonceStore>,
    /// Registered queries.
    pub(crate) queries: Arc<dyn QueryStore>,
    /// Attempts to log in, where servers count them together.
    pub(crate) attempts: Option<Arc<dyn AttemptStore>>,
}

impl State {
    /// One store for all of it.
    pub(crate) fn of(store: impl RevocationStore + NonceStore + QueryStore + Clone) -> Self {
        Self {
            revocations: Arc::new(store.clone()),
            nonces: Arc::new(store.clone()),
            queries: Arc::new(store),
            attempts: None,
        }
    }

    /// The same with attempts to log in.
    pub(crate) fn with_attempts(self, store: impl AttemptStore) -> Self {
        Self { attempts: Some(Arc::new(store)), ..self }
    }
}

impl Database {
    /// Opens a database and reads what it contains.
    pub(crate) fn open(
        url: &str,
        config: &Config,
        times: &[(String, String)],
        notes: &mut Vec<String>,
    ) -> Result<(Self, Catalog), String> {
        match DatabaseUrl::parse(url)? {
            DatabaseUrl::Sqlite(path) => {
                let database = mesh_sqlite::Database::open(&path).map_err(|error| error.to_string())?;
                let contents = database.contents(times).map_err(|error| error.to_string())?;
                notes.extend(contents.notes);
                Ok((Self::Sqlite(database), contents.catalog))
            }
            DatabaseUrl::Postgres(url) => waited(async {
                let database = mesh_postgres::Database::connect(&url, &settings(config)).await?;
                let contents = database.contents(times).await?;
                notes.extend(contents.notes);
                Ok((Self::Postgres(database), contents.catalog))
            })?
            .map_err(|error: mesh_postgres::OpenError| error.to_string()),
        }
    }

    /// Reads anew what it contains, over the connections that it has.
    pub(crate) async fn contents(
        &self,
        times: Vec<(String, String)>,
        notes: &mut Vec<String>,
    ) -> Result<Catalog, String> {
        let (catalog, remarks) = match self {
            Self::Sqlite(database) => {
                let database = database.clone();
                let reading = tokio::task::spawn_blocking(move || database.contents(&times));
                let contents = reading.await.map_err(|error| error.to_string())?;
                let contents = contents.map_err(|error| error.to_string())?;
                (contents.catalog, contents.notes)
            }
            Self::Postgres(database) => {
                let contents = database.contents(&times).await.map_err(|error| error.to_string())?;
                (contents.catalog, contents.notes)
            }
        };
        notes.extend(remarks);
        Ok(catalog)
    }

    /// Has the database answer reads, and take writes where there is a writer.
    pub(crate) fn serve(&self, mesh: MeshBuilder, writer: Option<&Writer>) -> MeshBuilder {
        let mesh = match self {
            Self::Sqlite(database) => mesh.resolver_for_all(database.clone()),
            Self::Postgres(database) => mesh.resolver_for_all(database.clone()),
        };
        match writer {
            None => mesh,
            Some(Writer::Sqlite(writer)) => mesh.mutator_for_all(writer.clone()),
            Some(Writer::Postgres(writer)) => mesh.mutator_for_all(writer.clone()),
        }
    }

    /// Takes writes.
    pub(crate) fn writer(&self) -> Result<Writer, Failure> {
        Ok(match self {
            Self::Sqlite(database) => Writer::Sqlite(database.writer().map_err(Failure::start)?),
            Self::Postgres(database) => Writer::Postgres(database.writer()),
        })
    }

    /// Tells of writes; to be spawned.
    pub(crate) fn watch(&self, changes: Changes) -> Result<BoxFuture<'static, ()>, Failure> {
        Ok(match self {
            Self::Sqlite(database) => Box::pin(database.watch(changes).map_err(Failure::start)?),
            Self::Postgres(database) => Box::pin(database.watch(changes)),
        })
    }

    /// The accounts that a table holds.
    pub(crate) async fn accounts(&self, users: &UsersTable) -> Result<Accounts, Failure> {
        let accounts = match self {
            Self::Sqlite(database) => Accounts::new(database.accounts(users).map_err(Failure::start)?).await,
            Self::Postgres(database) => {
                Accounts::new(database.accounts(users).await.map_err(Failure::start)?).await
            }
        };
        accounts.map_err(Failure::start)
    }

    /// Makes sure that it can be read.
    pub(crate) async fn ping(&self) -> Result<(), String> {
        match self {
            Self::Sqlite(database) => database.ping().await.map_err(|error| error.to_string()),
            Self::Postgres(database) => database.ping().await.map_err(|error| error.to_string()),
        }
    }

    /// What of its connections and its cache is in use.
    pub(crate) fn usage(&self) -> Usage {
        match self {
            Self::Sqlite(database) => database.usage(),
            Self::Postgres(database) => database.usage(),
        }
    }

    /// How a plan is run: each statement with its parameters, and the database's own account of it.
    pub(crate) fn query_plan(&self, plan: &Plan) -> Result<Vec<(String, Vec<String>)>, ResolveError> {
        match self {
            Self::Sqlite(database) => database.query_plan(plan),
            Self::Postgres(database) => {
                let asked = waited(database.query_plan(plan)).map_err(ResolveError::new)?;
                asked.map(|asked| vec![asked])
            }
        }
    }

    /// The statements that make the database tell of changes, run if wanted; `None` where none are needed.
    pub(crate) fn triggers(&self, schema: &Schema, install: bool) -> Result<Option<String>, String> {
        let Self::Postgres(database) = self else { return Ok(None) };
        let asked = waited(async {
            let statements = database.trigger_statements(schema).await?;
            if install {
                database.install_triggers(schema).await?;
            }
            Ok(statements)
        });
        asked?.map(Some).map_err(|error: mesh_postgres::OpenError| error.to_string())
    }
}

/// How the settings have PostgreSQL connected to.
fn settings(config: &Config) -> Settings {
    let postgres = &config.postgres;
    let mut settings = Settings::default();
    settings.connections = postgres.connections;
    settings.wait = postgres.wait;
    settings.statement_timeout = config.request_timeout;
    settings.pooler = postgres.pooler;
    settings.listen_url.clone_from(&postgres.listen_url);
    settings.replicas.clone_from(&config.replicas);
    settings.lag = postgres.lag;
    settings.schemas.clone_from(&config.schemas);
    settings
}

/// Runs a future to its end, before there is a server.
pub(crate) fn waited<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| error.to_string())?.block_on(future))
}
