//! API keys in a table of the served database.

use mesh_backend::api_keys::{ApiKeys, HashColumn, KeyTable};
use mesh_backend::error::BoxError;
use mesh_backend::tables::quoted;
use mesh_integrity::check_api_key_columns;

use crate::database::Database;
use crate::tables;

/// The columns. A time is a text that SQLite's date functions read, in UTC unless the text states otherwise, or seconds or
/// milliseconds since 1970. A time that cannot be read has passed.
const SELECTED: &str = "hash, owner, role, CASE typeof(expires) WHEN 'null' THEN NULL WHEN 'real' THEN expires \
    WHEN 'integer' THEN CASE WHEN expires > 100000000000 THEN expires / 1000 ELSE expires END \
    ELSE coalesce(unixepoch(expires), 0) END";

/// Returns the API keys stored in a table.
pub(crate) fn open(database: &Database, table: &str) -> Result<ApiKeys, BoxError> {
    let columns = tables::columns(&database.path(), table)?;
    let create = create_table(table);
    check_api_key_columns(table, &columns, str::eq_ignore_ascii_case, &create)?;
    let keys = KeyTable {
        table: &quoted(table, '"'),
        hashes: HashColumn::Any,
        selected: SELECTED,
        equals: "=",
        params: ["?1", "?2", "?3", "?4"],
    };
    Ok(ApiKeys::new(database.tables(), &keys))
}

/// Returns the statement that creates a table of API keys.
pub(crate) fn create_table(table: &str) -> String {
    let table = quoted(table, '"');
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (hash text NOT NULL PRIMARY KEY, owner text, role text, expires text);"
    )
}

#[cfg(test)]
mod tests;
