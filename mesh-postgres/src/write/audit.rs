//! A table of the database that the audit log is written to.

use mesh_backend::audit::AuditTable;
use mesh_schema::TableName;

use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::sql;

impl Database {
    /// Returns the table of audit entries.
    ///
    /// # Errors
    /// The table or some of its columns are missing, or the database cannot be reached.
    pub async fn audit_table(&self, name: &str) -> Result<AuditTable, OpenError> {
        let opening = async {
            let table = self.find_table(TableName::parse(name)?).await?;
            let columns = self.columns(&table).await?;
            let has_column = |name: &str| columns.iter().any(|(column, _)| column == name);
            let (types, params) = (["timestamptz", "text", "jsonb"], ["$1::timestamptz", "$2", "$3::jsonb"]);
            Ok(AuditTable::open(self.tables(), (name, &sql::table(&table)), has_column, types, params)?)
        };
        opening.await.map_err(|error: BoxError| self.open_error(error))
    }
}
