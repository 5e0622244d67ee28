//! The database of a command: SQLite, PostgreSQL or MariaDB behind one type.

use std::io;

use mesh_integrity::UsersTable;
use mesh_plan::backend::Usage;
use mesh_plan::{BoxFuture, Changes, MeshBuilder, Plan, ResolveError};
use mesh_postgres::Settings;
use mesh_schema::{Catalog, Schema, TableName};
use mesh_server::accounts::Accounts;

use crate::cli::failure::{Failure, chain};
use crate::cli::server::database_url::DatabaseUrl;
use crate::config::Config;

/// An open database.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    /// A SQLite file.
    Sqlite(mesh_sqlite::Database),
    /// A PostgreSQL server.
    Postgres(mesh_postgres::Database),
    /// A server of MariaDB.
    MySql(mesh_mysql::Database),
}

/// Executes writes to an open database.
#[derive(Clone, Debug)]
pub(crate) enum Writer {
    /// To a SQLite file.
    Sqlite(mesh_sqlite::Writer),
    /// To a PostgreSQL server.
    Postgres(mesh_postgres::Writer),
    /// To a server of MariaDB.
    MySql(mesh_mysql::Writer),
}

impl Database {
    /// Opens a database and reads its catalog.
    pub(crate) fn open(
        url: &str,
        config: &Config,
        times: Vec<(String, String)>,
        notes: &mut Vec<String>,
    ) -> Result<(Self, Catalog), Failure> {
        let url = DatabaseUrl::parse(url).map_err(Failure::usage_error)?;
        if !matches!(url, DatabaseUrl::Postgres(_)) {
            refuse_postgres_settings(config)?;
        }
        block_on(async {
            let database = match url {
                DatabaseUrl::Sqlite(path) => {
                    Self::Sqlite(mesh_sqlite::Database::open_with(&path, &sqlite_settings(config))?)
                }
                DatabaseUrl::Postgres(url) => {
                    Self::Postgres(mesh_postgres::Database::connect(&url, &postgres_settings(config)).await?)
                }
                DatabaseUrl::MySql(url) => {
                    Self::MySql(mesh_mysql::Database::connect(&url, &mysql_settings(config)).await?)
                }
            };
            let catalog = database.contents(times, notes).await?;
            Ok((database, catalog))
        })?
    }

    /// Reads the catalog. `times` are the columns that hold times.
    pub(crate) async fn contents(
        &self,
        times: Vec<(String, String)>,
        notes: &mut Vec<String>,
    ) -> Result<Catalog, Failure> {
        let (catalog, more) = match self {
            Self::Sqlite(database) => {
                let database = database.clone();
                let reading = tokio::task::spawn_blocking(move || database.contents(&times));
                let contents = reading.await??;
                (contents.catalog, contents.notes)
            }
            Self::Postgres(database) => {
                let contents = database.contents(&times).await?;
                (contents.catalog, contents.notes)
            }
            Self::MySql(database) => {
                let contents = database.contents(&times).await?;
                (contents.catalog, contents.notes)
            }
        };
        notes.extend(more);
        Ok(catalog)
    }

    /// Returns notes about the schema that is served from the database: tables whose changes have to be polled although others
    /// have triggers and, with `writes`, writes that the database would refuse.
    pub(crate) async fn schema_notes(
        &self,
        schema: &Schema,
        config: &Config,
        writes: bool,
    ) -> Result<Vec<String>, Failure> {
        let mut notes = match self {
            _ if !writes => Vec::new(),
            Self::Sqlite(database) => {
                let (database, schema) = (database.clone(), schema.clone());
                tokio::task::spawn_blocking(move || database.refused_writes(&schema)).await??
            }
            Self::Postgres(database) => database.refused_writes(schema).await?,
            Self::MySql(database) => {
                let refused = database.refused_writes(schema).await;
                refused.map_err(|error| Failure::check_failed(chain(&error)))?
            }
        };
        if let (Self::Postgres(database), true) = (self, config.follows_changes()) {
            notes.extend(database.trigger_note(schema).await?);
        }
        Ok(notes)
    }

    /// Makes the database the resolver of all entities, and the writer their mutator.
    pub(crate) fn add_resolvers(&self, mesh: MeshBuilder, writer: Option<&Writer>) -> MeshBuilder {
        let mesh = match self {
            Self::Sqlite(database) => mesh.default_resolver(database.clone()),
            Self::Postgres(database) => mesh.default_resolver(database.clone()),
            Self::MySql(database) => mesh.default_resolver(database.clone()),
        };
        match writer {
            None => mesh,
            Some(Writer::Sqlite(writer)) => mesh.default_mutator(writer.clone()),
            Some(Writer::Postgres(writer)) => mesh.default_mutator(writer.clone()),
            Some(Writer::MySql(writer)) => mesh.default_mutator(writer.clone()),
        }
    }

    /// Opens the database for writing.
    pub(crate) fn writer(&self) -> Result<Writer, Failure> {
        Ok(match self {
            Self::Sqlite(database) => Writer::Sqlite(database.writer()?),
            Self::Postgres(database) => Writer::Postgres(database.writer()),
            Self::MySql(database) => Writer::MySql(database.writer()),
        })
    }

    /// Returns a task that reports changes of the data.
    pub(crate) fn watch(&self, changes: Changes) -> BoxFuture<'static, ()> {
        match self {
            Self::Sqlite(database) => Box::pin(database.watch(changes)),
            Self::Postgres(database) => Box::pin(database.watch(changes)),
            Self::MySql(database) => Box::pin(database.watch(changes)),
        }
    }

    /// Returns the accounts of a table.
    pub(crate) async fn accounts(&self, users: &UsersTable) -> Result<Accounts, Failure> {
        let accounts = match self {
            Self::Sqlite(database) => {
                let accounts =
                    database.accounts(users).map_err(|error| Failure::from_faults(error.faults))?;
                Accounts::new(accounts).await
            }
            Self::Postgres(database) => {
                let accounts = database.accounts(users).await;
                Accounts::new(accounts.map_err(|error| Failure::from_faults(error.faults()))?).await
            }
            Self::MySql(database) => {
                let accounts = database.accounts(users).await;
                Accounts::new(accounts.map_err(|error| Failure::from_faults(error.faults()))?).await
            }
        };
        accounts.map_err(Failure::usage_error)
    }

    /// Checks that the database can be read.
    pub(crate) async fn ping(&self) -> Result<(), Failure> {
        match self {
            Self::Sqlite(database) => database.ping().await?,
            Self::Postgres(database) => database.ping().await?,
            Self::MySql(database) => database.ping().await?,
        }
        Ok(())
    }

    /// Returns whether reads are answered although the primary does not respond.
    pub(crate) fn answers_without_primary(&self) -> bool {
        match self {
            Self::Sqlite(_) | Self::MySql(_) => false,
            Self::Postgres(database) => database.answers_without_primary(),
        }
    }

    /// Returns the usage of the connections and caches.
    pub(crate) fn usage(&self) -> Usage {
        match self {
            Self::Sqlite(database) => database.usage(),
            Self::Postgres(database) => database.usage(),
            Self::MySql(database) => database.usage(),
        }
    }

    /// Returns each statement of a plan and the database's query plan for it.
    pub(crate) fn query_plan(&self, plan: &Plan) -> Result<Vec<(String, Vec<String>)>, Failure> {
        let explained = match self {
            Self::Sqlite(database) => database.query_plan(plan),
            Self::Postgres(database) => block_on(database.query_plan(plan))?.map(|statement| vec![statement]),
            Self::MySql(database) => block_on(database.query_plan(plan))?.map(|statement| vec![statement]),
        };
        explained.map_err(|error| Failure::check_failed(chain(&error)))
    }

    /// Checks the bound on orders by values of related records.
    pub(crate) fn check_sorts(&self, plan: &Plan) -> Result<(), ResolveError> {
        match self {
            Self::Sqlite(database) => database.check_sorts(plan),
            Self::Postgres(database) => block_on(database.check_sorts(plan)).map_err(ResolveError::new)?,
            Self::MySql(database) => block_on(database.check_sorts(plan)).map_err(ResolveError::new)?,
        }
    }

    /// Returns whether an index of a table begins with these columns in any order, or `None` for a view.
    pub(crate) fn has_index(&self, table: &TableName, columns: &[String]) -> Result<Option<bool>, Failure> {
        let found = match self {
            Self::Sqlite(database) => database.has_index(table, columns),
            Self::Postgres(database) => block_on(database.has_index(table, columns))?,
            Self::MySql(database) => block_on(database.has_index(table, columns))?,
        };
        found.map_err(|error| Failure::check_failed(chain(&error)))
    }

    /// Returns the number of rows of a table of SQLite, counted up to `max`, or `None` for a view and for tables of other
    /// databases.
    pub(crate) fn row_count(&self, table: &TableName, max: u64) -> Result<Option<u64>, Failure> {
        match self {
            Self::Sqlite(database) => {
                database.row_count(table, max).map_err(|error| Failure::check_failed(chain(&error)))
            }
            Self::Postgres(_) | Self::MySql(_) => Ok(None),
        }
    }

    /// Returns the statements that install change notifications, and runs them if `install` is set. Only PostgreSQL has them.
    pub(crate) fn triggers(&self, schema: &Schema, install: bool) -> Result<Option<String>, Failure> {
        let Self::Postgres(database) = self else { return Ok(None) };
        block_on(async {
            let statements = database.trigger_statements(schema).await?;
            if install {
                database.install_triggers(schema).await?;
            }
            Ok(Some(statements))
        })?
    }
}

/// Refuses settings that have no effect on other databases than PostgreSQL.
fn refuse_postgres_settings(config: &Config) -> Result<(), Failure> {
    let settings = [("replicas", !config.replicas.is_empty()), ("schemas", !config.schemas.is_empty())];
    let written = settings.into_iter().filter(|(_, is_written)| *is_written);
    let faults: Vec<_> =
        written.map(|(setting, _)| format!("'{setting}' applies only to PostgreSQL")).collect();
    if faults.is_empty() { Ok(()) } else { Err(Failure::from_faults(faults)) }
}

/// Returns the settings of a SQLite file.
fn sqlite_settings(config: &Config) -> mesh_sqlite::Settings {
    let mut settings = mesh_sqlite::Settings::default();
    settings.response_cache = config.cache.responses;
    settings.statement_cache = config.cache.statements / config.thread_count();
    settings.memory_map = config.sqlite.mmap;
    settings
}

/// Returns the settings of connections to PostgreSQL.
pub(crate) fn postgres_settings(config: &Config) -> Settings {
    let postgres = &config.postgres;
    let mut settings = Settings::default();
    settings.connections = postgres.connections;
    settings.idle_timeout = postgres.idle_timeout;
    settings.statements = postgres.statements;
    settings.wait = postgres.wait;
    settings.statement_timeout = config.request_timeout;
    settings.pooler = postgres.pooler;
    settings.listen_url = postgres.listen_url.as_ref().map(ToString::to_string);
    settings.replicas = config.replicas.iter().map(ToString::to_string).collect();
    settings.lag = postgres.lag;
    settings.schemas.clone_from(&config.schemas);
    settings
}

/// Returns the settings of connections to MariaDB.
pub(crate) fn mysql_settings(config: &Config) -> mesh_mysql::Settings {
    let mysql = &config.mysql;
    let mut settings = mesh_mysql::Settings::default();
    settings.connections = mysql.connections;
    settings.idle_timeout = mysql.idle_timeout;
    settings.statements = mysql.statements;
    settings.wait = mysql.wait;
    settings.statement_timeout = config.request_timeout;
    settings
}

/// Runs a future on a new runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
}
