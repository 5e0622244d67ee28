//! API keys in a table of the database.

use mesh_backend::api_keys::{ApiKeys, ColumnTypes, KeyTable};
use mesh_schema::TableName;

use crate::database::Database;
use crate::error::BoxError;
use crate::sql;

/// The accepted types of the columns of hashes and times.
const TYPES: ColumnTypes = ColumnTypes {
    texts: &["text", "varchar", "bpchar"],
    bytes: &["bytea"],
    times: &["timestamptz", "timestamp", "date"],
    hash: "text or bytea",
    expires: "timestamptz, timestamp or date",
};

/// Returns the API keys stored in a table. They are read from the primary, because a replica may have a key that has just been
/// revoked.
pub(crate) async fn open(database: &Database, name: &str) -> Result<ApiKeys, BoxError> {
    let table = database.find_table(TableName::parse(name)?).await?;
    let columns = database.columns(&table).await?;
    let create = create_table(&table);
    let keys = KeyTable {
        table: &sql::table(&table),
        hashes: TYPES.check(name, &columns, |column, name| column == name, &create)?,
        // A date is the start of its day in UTC.
        selected: "hash, CAST(owner AS text), CAST(role AS text), CAST(EXTRACT(EPOCH FROM expires) AS double precision)",
        equals: "OPERATOR(pg_catalog.=)",
        params: ["$1", "$2", "$3", "$4"],
    };
    Ok(ApiKeys::new(database.tables(), &keys))
}

/// Returns the statement that creates a table of API keys.
pub(crate) fn create_table(table: &TableName) -> String {
    let table = sql::table(table);
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (hash text NOT NULL PRIMARY KEY, owner text, role text, expires timestamptz);"
    )
}
