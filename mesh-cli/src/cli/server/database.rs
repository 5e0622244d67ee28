//! The database of a command, whose URL names its engine.

use std::sync::Arc;

use mesh_backend::backend::Backend;
use mesh_backend::error::OpenError;
use mesh_schema::Schema;

use crate::cli::failure::Failure;
use crate::cli::server::database_url::DatabaseUrl;
use crate::config::{Config, Pooler};

/// The memory for prepared statements of SQLite in bytes, which the threads share.
const SQLITE_STATEMENTS: usize = 32 << 20;

/// An open database of any engine.
pub(crate) type Database = Arc<dyn Backend>;

/// Opens a database with the settings of its engine.
pub(crate) async fn connect(url: &str, config: &Config) -> Result<Database, Failure> {
    let url = DatabaseUrl::parse(url).map_err(Failure::usage_error)?;
    if !matches!(url, DatabaseUrl::Postgres(_)) {
        refuse_postgres_settings(config)?;
    }
    Ok(match url {
        DatabaseUrl::Sqlite { path, memory_map } => {
            Arc::new(mesh_sqlite::Database::open_with(path, &sqlite_settings(config, memory_map))?)
        }
        DatabaseUrl::Postgres(url) => {
            Arc::new(mesh_postgres::Database::connect(&url, &postgres_settings(config)).await?)
        }
        DatabaseUrl::MySql(url) => {
            Arc::new(mesh_mysql::Database::connect(&url, &mysql_settings(config)).await?)
        }
    })
}

/// Returns notes about the schema that is served from a database: tables whose changes have to be polled although others
/// have triggers and, with `writes`, writes that the database would refuse.
pub(crate) async fn schema_notes(
    database: &Database,
    schema: &Schema,
    config: &Config,
    writes: bool,
) -> Result<Vec<String>, OpenError> {
    let mut notes = if writes { database.refused_writes(schema).await? } else { Vec::new() };
    if config.follows_changes() {
        notes.extend(database.trigger_note(schema).await?);
    }
    Ok(notes)
}

/// Refuses settings that have no effect on other databases than PostgreSQL.
fn refuse_postgres_settings(config: &Config) -> Result<(), Failure> {
    let settings = [("replicas", !config.replicas.is_empty()), ("schemas", !config.schemas.is_empty())];
    let written = settings.into_iter().filter(|(_, is_written)| *is_written);
    Failure::check(written.map(|(setting, _)| format!("'{setting}' applies only to PostgreSQL")).collect())
}

fn sqlite_settings(config: &Config, memory_map: bool) -> mesh_sqlite::Settings {
    let mut settings = mesh_sqlite::Settings::default();
    settings.response_cache = config.cache.responses;
    settings.statements = SQLITE_STATEMENTS / config.thread_count();
    settings.memory_map = memory_map;
    settings.state.clone_from(&config.state.path);
    settings
}

fn postgres_settings(config: &Config) -> mesh_postgres::Settings {
    let mut settings = mesh_postgres::Settings::default();
    settings.connections = config.limits.database_connections;
    settings.wait = config.connection_wait();
    settings.statement_timeout = config.request_timeout;
    settings.pooler = config.postgres.pooler != Pooler::None;
    if let Pooler::Listening(url) = &config.postgres.pooler {
        settings.listen_url = Some(url.to_string());
    }
    settings.replicas = config.replicas.iter().map(ToString::to_string).collect();
    settings.schemas.clone_from(&config.schemas);
    settings
}

fn mysql_settings(config: &Config) -> mesh_mysql::Settings {
    let mut settings = mesh_mysql::Settings::default();
    settings.connections = config.limits.database_connections;
    settings.wait = config.connection_wait();
    settings.statement_timeout = config.request_timeout;
    settings
}

/// Runs a future on a new runtime.
pub(crate) fn block_on<T, E: Into<Failure>>(
    future: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(future).map_err(Into::into)
}
