//! A table of the database that the audit log is written to.

use mesh_backend::audit::AuditTable;
use mesh_backend::tables::quoted;

use crate::database::Database;
use crate::error::OpenError;

impl Database {
    /// Returns the table of audit entries.
    ///
    /// # Errors
    /// The table or some of its columns are missing, or the database cannot be reached.
    pub async fn audit_table(&self, name: &str) -> Result<AuditTable, OpenError> {
        let columns = self.columns(name).await.map_err(|error| self.open_error(error))?;
        let has_column = |name: &str| columns.iter().any(|(column, _)| column.eq_ignore_ascii_case(name));
        let (table, types) = (quoted(name, '`'), ["varchar(40)", "varchar(100)", "json"]);
        let opened = AuditTable::open(self.tables(), (name, &table), has_column, types, ["?"; 3]);
        opened.map_err(|error| self.open_error(error))
    }
}
