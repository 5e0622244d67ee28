//! The table of API keys of a command's database.

use std::sync::Arc;

use mesh_integrity::{ApiKeyHash, ApiKeySource, StoreError, StoredApiKey};
use mesh_server::ApiKeys;

use crate::cli::failure::{Failure, chain};
use crate::cli::server::database::Database;
use crate::config::Config;

/// The API keys of a database.
pub(crate) enum ApiKeyTable {
    Sqlite(mesh_sqlite::ApiKeys),
    Postgres(mesh_postgres::ApiKeys),
    MySql(mesh_mysql::ApiKeys),
}

impl ApiKeyTable {
    /// Opens a table. `create` creates it if it is missing.
    pub(crate) async fn open(database: &Database, table: &str, create: bool) -> Result<Self, Failure> {
        Ok(match database {
            Database::Sqlite(database) => {
                if create {
                    database.create_api_keys_table(table).await.map_err(cannot_create)?;
                }
                let keys = database.api_keys(table);
                Self::Sqlite(keys.map_err(|error| Failure::from_faults(error.faults))?)
            }
            Database::Postgres(database) => {
                if create {
                    let created = database.create_api_keys_table(table).await;
                    created.map_err(StoreError::new).map_err(cannot_create)?;
                }
                let keys = database.api_keys(table).await;
                Self::Postgres(keys.map_err(|error| Failure::from_faults(error.faults()))?)
            }
            Database::MySql(database) => {
                if create {
                    let created = database.create_api_keys_table(table).await;
                    created.map_err(StoreError::new).map_err(cannot_create)?;
                }
                let keys = database.api_keys(table).await;
                Self::MySql(keys.map_err(|error| Failure::from_faults(error.faults()))?)
            }
        })
    }

    /// Converts the table into the API keys of a server.
    fn into_keys(self) -> ApiKeys {
        ApiKeys::new(match self {
            Self::Sqlite(keys) => Arc::new(keys) as Arc<dyn ApiKeySource>,
            Self::Postgres(keys) => Arc::new(keys),
            Self::MySql(keys) => Arc::new(keys),
        })
    }

    /// Returns all keys whose hashes are well-formed, and the number of the others.
    pub(crate) async fn list(&self) -> Result<(Vec<StoredApiKey>, usize), Failure> {
        let listed = match self {
            Self::Sqlite(keys) => keys.list().await,
            Self::Postgres(keys) => keys.list().await,
            Self::MySql(keys) => keys.list().await,
        };
        listed.map_err(|error| Failure::check_failed(format!("cannot read the API keys: {}", cause(&error))))
    }

    /// Stores a key.
    pub(crate) async fn insert(&self, key: &StoredApiKey) -> Result<(), Failure> {
        let stored = match self {
            Self::Sqlite(keys) => keys.insert(key).await,
            Self::Postgres(keys) => keys.insert(key).await,
            Self::MySql(keys) => keys.insert(key).await,
        };
        stored
            .map_err(|error| Failure::check_failed(format!("the API key was not stored: {}", cause(&error))))
    }

    /// Deletes a key. Returns whether it existed.
    pub(crate) async fn delete(&self, hash: ApiKeyHash) -> Result<bool, Failure> {
        let deleted = match self {
            Self::Sqlite(keys) => keys.delete(hash).await,
            Self::Postgres(keys) => keys.delete(hash).await,
            Self::MySql(keys) => keys.delete(hash).await,
        };
        deleted
            .map_err(|error| Failure::check_failed(format!("the API key was not revoked: {}", cause(&error))))
    }
}

/// Opens the table of API keys, if the settings name one.
pub(crate) async fn api_keys(
    config: &Config,
    database: Option<&Database>,
) -> Result<Option<ApiKeys>, Failure> {
    let table = &config.api_keys.table;
    if table.is_empty() {
        return Ok(None);
    }
    let database = database.ok_or_else(|| Failure::usage_error("'api_keys.table' needs a database"))?;
    Ok(Some(ApiKeyTable::open(database, table, false).await?.into_keys()))
}

fn cannot_create(error: StoreError) -> Failure {
    Failure::check_failed(format!("cannot create the table of API keys: {}", cause(&error)))
}

/// Returns the causes of an error of the table.
fn cause(error: &StoreError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), chain)
}
