//! The table of API keys of a command's database.

use std::sync::Arc;

use mesh_server::ApiKeys;

use crate::cli::failure::Failure;
use crate::cli::server::database::Database;
use crate::config::Config;

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
    let keys = database.api_keys(table).await;
    let keys = keys.map_err(|error| Failure::of_setting("api_keys.table", error.faults()))?;
    Ok(Some(ApiKeys::new(Arc::new(keys))))
}
