//! A table of the database that the audit log is written to.

use mesh_backend::audit::AuditTable;
use mesh_backend::tables::quoted;

use crate::database::Database;
use crate::error::BoxError;

/// Returns the table of audit entries.
pub(crate) async fn open(database: &Database, name: &str) -> Result<AuditTable, BoxError> {
    let columns = database.columns(name).await?;
    let has_column = |name: &str| columns.iter().any(|(column, _)| column.eq_ignore_ascii_case(name));
    let (table, types) = (quoted(name, '`'), ["varchar(40)", "varchar(100)", "json"]);
    Ok(AuditTable::open(database.tables(), (name, &table), has_column, types, ["?"; 3])?)
}
