//! A table of the database that the audit log is written to.

use mesh_backend::audit::AuditTable;
use mesh_schema::TableName;

use crate::database::Database;
use crate::error::BoxError;
use crate::sql;

/// Returns the table of audit entries.
pub(crate) async fn open(database: &Database, name: &str) -> Result<AuditTable, BoxError> {
    let table = database.find_table(TableName::parse(name)?).await?;
    let columns = database.columns(&table).await?;
    let has_column = |name: &str| columns.iter().any(|(column, _)| column == name);
    let (types, params) = (["timestamptz", "text", "jsonb"], ["$1::timestamptz", "$2", "$3::jsonb"]);
    Ok(AuditTable::open(database.tables(), (name, &sql::table(&table)), has_column, types, params)?)
}
