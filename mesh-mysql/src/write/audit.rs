//! A table of the database that the audit log is written to.

use mesh_backend::audit::AuditTable;
use sea_query::{ColumnDef, Expr, IntoTableRef as _, MysqlQueryBuilder};

use crate::database::Database;
use crate::error::BoxError;

/// Returns the table of audit entries.
pub(crate) async fn open(database: &Database, name: &str) -> Result<AuditTable, BoxError> {
    let columns = database.columns(name).await?;
    let types: [fn(&mut ColumnDef) -> &mut ColumnDef; 3] =
        [|time| time.string_len(40), |event| event.string_len(100), ColumnDef::json];
    let values = ["?", "?", "?"].map(Expr::cust);
    let has_column = |name: &str| columns.iter().any(|(column, _)| column.eq_ignore_ascii_case(name));
    let table = (name, name.to_owned().into_table_ref());
    Ok(AuditTable::open::<MysqlQueryBuilder>(database.tables(), table, has_column, types, values)?)
}
