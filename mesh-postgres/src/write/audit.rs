//! A table of the database that the audit log is written to.

use mesh_backend::audit::AuditTable;
use mesh_schema::TableName;
use sea_query::{ColumnDef, Expr, ExprTrait as _, PostgresQueryBuilder};

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
            let types = [ColumnDef::timestamp_with_time_zone, ColumnDef::text, ColumnDef::json_binary];
            let [time, event, entry] = ["$1", "$2", "$3"].map(Expr::cust);
            let values = [time.cast_as("timestamptz"), event, entry.cast_as("jsonb")];
            let has_column = |name: &str| columns.iter().any(|column| column == name);
            let table = (name, sql::table_ref(&table));
            Ok(AuditTable::open::<PostgresQueryBuilder>(self.tables(), table, has_column, types, values)?)
        };
        opening.await.map_err(|error: BoxError| self.open_error(error))
    }
}
