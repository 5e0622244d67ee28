//! API keys in a table of the served database.

use mesh_backend::api_keys::{ApiKeys, HashColumn, KeyTable};
use mesh_backend::tables::quoted;
use mesh_integrity::{ApiKeysTableError, StoreError, check_api_key_columns};

use crate::database::Database;
use crate::tables;

/// The columns. A time is a text that SQLite's date functions read, in UTC unless the text states otherwise, or seconds or
/// milliseconds since 1970. A time that cannot be read has passed.
const SELECTED: &str = "hash, owner, role, CASE typeof(expires) WHEN 'null' THEN NULL WHEN 'real' THEN expires \
    WHEN 'integer' THEN CASE WHEN expires > 100000000000 THEN expires / 1000 ELSE expires END \
    ELSE coalesce(unixepoch(expires), 0) END";

impl Database {
    /// Returns the API keys stored in a table. Expiry times are texts in UTC, or seconds or milliseconds since 1970.
    ///
    /// # Errors
    /// The table or some of its columns are missing, or the file cannot be read.
    pub fn api_keys(&self, table: &str) -> Result<ApiKeys, ApiKeysTableError> {
        let columns = tables::columns(&self.path(), table);
        let columns = columns.map_err(|error| ApiKeysTableError::from(error.to_string()))?;
        let create = create_table(table);
        check_api_key_columns(table, &columns, str::eq_ignore_ascii_case, &create)?;
        let keys = KeyTable {
            table: &quoted(table, '"'),
            hashes: HashColumn::Any,
            selected: SELECTED,
            equals: "=",
            params: ["?1", "?2", "?3", "?4"],
        };
        Ok(ApiKeys::new(self.tables(), &keys))
    }

    /// Creates a table of API keys unless a table with this name exists.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn create_api_keys_table(&self, table: &str) -> Result<(), StoreError> {
        let created =
            mesh_backend::tables::Tables::write(&self.tables(), &create_table(table), &[Vec::new()]).await;
        created.map(drop).map_err(StoreError::new)
    }
}

/// Returns the statement that creates a table of API keys.
fn create_table(table: &str) -> String {
    let table = quoted(table, '"');
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (hash text NOT NULL PRIMARY KEY, owner text, role text, expires text);"
    )
}

#[cfg(test)]
mod tests;
