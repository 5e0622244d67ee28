//! The table of API keys of a command's database.

use std::sync::Arc;

use mesh_integrity::{ApiKeyHash, StoreError, StoredApiKey};
use mesh_server::ApiKeys;

use crate::cli::failure::{Failure, chain};
use crate::cli::server::database::Database;
use crate::config::Config;

/// The API keys of a database.
pub(crate) struct ApiKeyTable(mesh_backend::api_keys::ApiKeys);

impl ApiKeyTable {
    /// Opens a table. `create` creates it if it is missing.
    pub(crate) async fn open(database: &Database, table: &str, create: bool) -> Result<Self, Failure> {
        if create {
            let created = match database {
                Database::Sqlite(database) => database.create_api_keys_table(table).await,
                Database::Postgres(database) => {
                    database.create_api_keys_table(table).await.map_err(StoreError::new)
                }
                Database::MySql(database) => {
                    database.create_api_keys_table(table).await.map_err(StoreError::new)
                }
            };
            created.map_err(|error| failed("cannot create the table of API keys", &error))?;
        }
        let keys = match database {
            Database::Sqlite(database) => database.api_keys(table).map_err(|error| error.faults),
            Database::Postgres(database) => database.api_keys(table).await.map_err(|error| error.faults()),
            Database::MySql(database) => database.api_keys(table).await.map_err(|error| error.faults()),
        };
        keys.map(Self).map_err(Failure::from_faults)
    }

    /// Returns all keys whose hashes are well-formed, and the number of the others.
    pub(crate) async fn list(&self) -> Result<(Vec<StoredApiKey>, usize), Failure> {
        self.0.list().await.map_err(|error| failed("cannot read the API keys", &error))
    }

    /// Stores a key.
    pub(crate) async fn insert(&self, key: &StoredApiKey) -> Result<(), Failure> {
        self.0.insert(key).await.map_err(|error| failed("the API key was not stored", &error))
    }

    /// Deletes a key. Returns whether it existed.
    pub(crate) async fn delete(&self, hash: ApiKeyHash) -> Result<bool, Failure> {
        self.0.delete(hash).await.map_err(|error| failed("the API key was not revoked", &error))
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
    let ApiKeyTable(keys) = ApiKeyTable::open(database, table, false).await?;
    Ok(Some(ApiKeys::new(Arc::new(keys))))
}

fn failed(what: &str, error: &StoreError) -> Failure {
    let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), chain);
    Failure::check_failed(format!("{what}: {cause}"))
}
