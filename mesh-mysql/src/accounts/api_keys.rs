//! API keys in a table of the database.

use mesh_backend::api_keys::{ApiKeys, ColumnTypes, KeyTable};
use mesh_backend::tables::quoted;

use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::pool::PoolError;

/// The accepted types of the columns of hashes and times.
const TYPES: ColumnTypes = ColumnTypes {
    texts: &["char", "varchar", "tinytext", "text", "longtext"],
    bytes: &["binary", "varbinary"],
    times: &["timestamp", "datetime", "date"],
    hash: "text or binary(32)",
    expires: "timestamp, datetime or date",
};

impl Database {
    /// Returns the API keys stored in a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing or have the wrong type ([`OpenError::faults`]), or the database cannot be
    /// reached.
    pub async fn api_keys(&self, table: &str) -> Result<ApiKeys, OpenError> {
        self.open_api_keys(table).await.map_err(|error| self.open_error(error))
    }

    async fn open_api_keys(&self, name: &str) -> Result<ApiKeys, BoxError> {
        let columns = self.columns(name).await?;
        let create = create_table(name);
        let keys = KeyTable {
            table: &quoted(name, '`'),
            hashes: TYPES.check(name, &columns, str::eq_ignore_ascii_case, &create)?,
            selected: "hash, CAST(owner AS CHAR), CAST(role AS CHAR), TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', expires)",
            equals: "=",
            // Without the zone of a time, which is that of the session.
            params: ["?", "?", "?", "LEFT(?, 19)"],
        };
        Ok(ApiKeys::new(self.tables(), &keys))
    }

    /// Creates a table of API keys unless a table with this name exists.
    ///
    /// # Errors
    /// The database cannot be reached, or the account may not create the table.
    pub async fn create_api_keys_table(&self, table: &str) -> Result<(), OpenError> {
        let creating = async {
            let mut connection = self.writes.take(false).await?;
            connection.execute(&create_table(table)).await.map_err(PoolError::Failed)
        };
        creating.await.map_err(|error: PoolError| self.open_error(error))
    }
}

/// Returns the statement that creates a table of API keys.
fn create_table(table: &str) -> String {
    let table = quoted(table, '`');
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (hash char(64) NOT NULL PRIMARY KEY, owner text, role text, expires datetime);"
    )
}
