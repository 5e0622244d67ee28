//! A table of the database that the audit log is written to.

use mesh_backend::audit::AuditTable;
use sea_query::{ColumnDef, Expr, IntoTableRef as _, MysqlQueryBuilder};

use crate::database::Database;
use crate::error::OpenError;

impl Database {
    /// Returns the table of audit entries.
    ///
    /// # Errors
    /// The table or some of its columns are missing, or the database cannot be reached.
    pub async fn audit_table(&self, name: &str) -> Result<AuditTable, OpenError> {
        let columns = self.columns(name).await.map_err(|error| self.open_error(error))?;
        let types: [fn(&mut ColumnDef) -> &mut ColumnDef; 3] =
            [|time| time.string_len(40), |event| event.string_len(100), ColumnDef::json];
        let values = ["?", "?", "?"].map(Expr::cust);
        let has_column = |name: &str| columns.iter().any(|(column, _)| column.eq_ignore_ascii_case(name));
        let table = (name, name.to_owned().into_table_ref());
        let opened = AuditTable::open::<MysqlQueryBuilder>(self.tables(), table, has_column, types, values);
        opened.map_err(|error| self.open_error(error))
    }
}
