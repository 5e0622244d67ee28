//! API keys in a table of the served database.

use mesh_backend::api_keys::{ApiKeys, HashColumn, KeyTable};
use mesh_integrity::{ApiKeysTableError, StoreError, check_api_key_columns};
use sea_query::{ColumnDef, Expr, ExprTrait as _, IntoTableRef as _, SqliteQueryBuilder, Table};

use crate::database::Database;
use crate::tables;

/// Converts a time to seconds: a text that SQLite's date functions read, in UTC unless the text states otherwise, or seconds or
/// milliseconds since 1970. A time that cannot be read has passed.
const SECONDS: &str = "CASE typeof(?) WHEN 'null' THEN NULL WHEN 'real' THEN ? WHEN 'integer' THEN \
    CASE WHEN ? > 100000000000 THEN ? / 1000 ELSE ? END ELSE coalesce(unixepoch(?), 0) END";

impl Database {
    /// Returns the API keys stored in a table. Expiry times are texts in UTC, or seconds or milliseconds since 1970.
    ///
    /// # Errors
    /// The table or some of its columns are missing, or the file cannot be read.
    pub fn api_keys(&self, table: &str) -> Result<ApiKeys, ApiKeysTableError> {
        let columns = tables::columns(&self.path(), table);
        let columns = columns.map_err(|error| ApiKeysTableError::from(error.to_string()))?;
        let create = format!("{};", create_table(table));
        check_api_key_columns(table, &columns, str::eq_ignore_ascii_case, &create)?;
        let keys = KeyTable {
            table: table.to_owned().into_table_ref(),
            hashes: HashColumn::Any,
            text: &|column| column,
            seconds: &|time| Expr::cust_with_exprs(SECONDS, std::iter::repeat_n(time, 6)),
            param: &|number| Expr::cust(format!("?{number}")),
            equals: &|left, right| left.eq(right),
            time: &|time| time,
        };
        Ok(ApiKeys::new::<SqliteQueryBuilder>(self.tables(), &keys))
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
    let text = |name: &'static str| ColumnDef::new(name).text().take();
    Table::create()
        .table(table.to_owned())
        .if_not_exists()
        .col(text("hash").not_null().primary_key())
        .col(text("owner"))
        .col(text("role"))
        .col(text("expires"))
        .to_string(SqliteQueryBuilder)
}

#[cfg(test)]
mod tests;
