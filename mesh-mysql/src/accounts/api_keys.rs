//! API keys in a table of the database.

use mesh_backend::api_keys::{ApiKeys, ColumnTypes, KeyTable};
use sea_query::{ColumnDef, Expr, ExprTrait as _, IntoTableRef as _, MysqlQueryBuilder, Table};

use crate::database::Database;
use crate::error::BoxError;

/// The accepted types of the columns of hashes and times.
const TYPES: ColumnTypes = ColumnTypes {
    texts: &["char", "varchar", "tinytext", "text", "longtext"],
    bytes: &["binary", "varbinary"],
    times: &["timestamp", "datetime", "date"],
    hash: "text or binary(32)",
    expires: "timestamp, datetime or date",
};

/// Returns the API keys stored in a table.
pub(crate) async fn open(database: &Database, name: &str) -> Result<ApiKeys, BoxError> {
    let columns = database.columns(name).await?;
    let create = format!("{};", create_table(name));
    let epoch = || Expr::Constant("1970-01-01 00:00:00".into());
    let keys = KeyTable {
        hashes: TYPES.check(name, &columns, str::eq_ignore_ascii_case, &create)?,
        table: name.to_owned().into_table_ref(),
        text: &|column| column.cast_as("CHAR"),
        seconds: &|time| Expr::cust_with_exprs("TIMESTAMPDIFF(SECOND, ?, ?)", [epoch(), time]),
        param: &|_| Expr::cust("?"),
        equals: &|left, right| left.eq(right),
        // Without the zone, which is that of the session.
        time: &|time| Expr::cust_with_exprs("LEFT(?, 19)", [time]),
    };
    Ok(ApiKeys::new::<MysqlQueryBuilder>(database.tables(), &keys))
}

/// Returns the statement that creates a table of API keys.
pub(crate) fn create_table(table: &str) -> String {
    Table::create()
        .table(table.to_owned())
        .if_not_exists()
        .col(ColumnDef::new("hash").char_len(64).not_null().primary_key())
        .col(ColumnDef::new("owner").text())
        .col(ColumnDef::new("role").text())
        .col(ColumnDef::new("expires").date_time())
        .to_string(MysqlQueryBuilder)
}
