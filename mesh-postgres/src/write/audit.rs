//! A table of the database that the audit log is written to.

use mesh_backend::audit::AuditTable;
use mesh_schema::TableName;
use sea_query::{ColumnDef, Expr, ExprTrait as _, PostgresQueryBuilder};

use crate::database::Database;
use crate::error::BoxError;
use crate::sql;

/// Returns the table of audit entries.
pub(crate) async fn open(database: &Database, name: &str) -> Result<AuditTable, BoxError> {
    let table = database.find_table(TableName::parse(name)?).await?;
    let columns = database.columns(&table).await?;
    let types = [ColumnDef::timestamp_with_time_zone, ColumnDef::text, ColumnDef::json_binary];
    let [time, event, entry] = ["$1", "$2", "$3"].map(Expr::cust);
    let values = [time.cast_as("timestamptz"), event, entry.cast_as("jsonb")];
    let has_column = |name: &str| columns.iter().any(|column| column == name);
    let table = (name, sql::table_ref(&table));
    Ok(AuditTable::open::<PostgresQueryBuilder>(database.tables(), table, has_column, types, values)?)
}
