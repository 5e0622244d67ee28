//! API keys in a table of the database.

use mesh_backend::api_keys::{ApiKeys, ColumnTypes, KeyTable};
use mesh_schema::TableName;

use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::sql;

/// The accepted types of the columns of hashes and times.
const TYPES: ColumnTypes = ColumnTypes {
    texts: &["text", "varchar", "bpchar"],
    bytes: &["bytea"],
    times: &["timestamptz", "timestamp", "date"],
    hash: "text or bytea",
    expires: "timestamptz, timestamp or date",
};

impl Database {
    /// Returns the API keys stored in a table. They are read from the primary, because a replica may have a key that has just
    /// been revoked.
    ///
    /// # Errors
    /// The table or some of its columns are missing or have the wrong type ([`OpenError::faults`]), or the database cannot be
    /// reached.
    pub async fn api_keys(&self, table: &str) -> Result<ApiKeys, OpenError> {
        self.open_api_keys(table).await.map_err(|error| self.open_error(error))
    }

    async fn open_api_keys(&self, name: &str) -> Result<ApiKeys, BoxError> {
        let table = self.find_table(TableName::parse(name)?).await?;
        let columns = self.columns(&table).await?;
        let table = sql::table(&table);
        let create = create_table(&table);
        let keys = KeyTable {
            table: &table,
            hashes: TYPES.check(name, &columns, |column, name| column == name, &create)?,
            // A date is the start of its day in UTC.
            selected: "hash, CAST(owner AS text), CAST(role AS text), CAST(EXTRACT(EPOCH FROM expires) AS double precision)",
            equals: "OPERATOR(pg_catalog.=)",
            params: ["$1", "$2", "$3", "$4"],
        };
        Ok(ApiKeys::new(self.tables(), &keys))
    }

    /// Creates a table of API keys unless a table with this name exists.
    ///
    /// # Errors
    /// The database cannot be reached, or the account may not create the table.
    pub async fn create_api_keys_table(&self, table: &str) -> Result<(), OpenError> {
        let table = TableName::parse(table).map_err(|error| self.open_error(error))?;
        let table = sql::qualified(&table, self.default_schema());
        let created = self.writes.execute(&create_table(&sql::table(&table))).await;
        created.map_err(|error| self.open_error(error))
    }
}

/// Returns the statement that creates a table of API keys, whose name is quoted.
fn create_table(table: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (hash text NOT NULL PRIMARY KEY, owner text, role text, expires timestamptz);"
    )
}
