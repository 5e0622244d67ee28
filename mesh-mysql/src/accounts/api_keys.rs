//! API keys in a table of the database.

use mesh_backend::api_keys::{ApiKeys, ColumnTypes, KeyTable};
use mesh_backend::tables::quoted;

use crate::database::Database;
use crate::error::BoxError;

/// The accepted types of the columns of hashes and times.
const TYPES: ColumnTypes = ColumnTypes {
    texts: &["char", "varchar", "tinytext", "text", "longtext"],
    bytes: &["binary", "varbinary"],
    times: &["timestamp", "datetime", "date"],
    hash: "text or binary(32)",
    expires: "timestamp, datetime or date",
};

/// Returns the API keys stored in a table.
pub(crate) async fn open(database: &Database, name: &str) -> Result<ApiKeys, BoxError> {
    let columns = database.columns(name).await?;
    let create = create_table(name);
    let keys = KeyTable {
        table: &quoted(name, '`'),
        hashes: TYPES.check(name, &columns, str::eq_ignore_ascii_case, &create)?,
        selected: "hash, CAST(owner AS CHAR), CAST(role AS CHAR), TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', expires)",
        equals: "=",
        // Without the zone of a time, which is that of the session.
        params: ["?", "?", "?", "LEFT(?, 19)"],
    };
    Ok(ApiKeys::new(database.tables(), &keys))
}

/// Returns the statement that creates a table of API keys.
pub(crate) fn create_table(table: &str) -> String {
    let table = quoted(table, '`');
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (hash char(64) NOT NULL PRIMARY KEY, owner text, role text, expires datetime);"
    )
}
