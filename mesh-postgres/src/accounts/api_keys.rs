//! API keys in a table of the database.

use mesh_backend::api_keys::{ApiKeys, ColumnTypes, KeyTable};
use mesh_schema::TableName;
use sea_query::{ColumnDef, Expr, ExprTrait as _, PostgresQueryBuilder, Table};

use crate::database::Database;
use crate::error::BoxError;
use crate::pool::PoolError;
use crate::sql::{self, TextParam};

/// The accepted types of the columns of hashes and times.
const TYPES: ColumnTypes = ColumnTypes {
    texts: &["text", "varchar", "bpchar"],
    bytes: &["bytea"],
    times: &["timestamptz", "timestamp", "date"],
    hash: "text or bytea",
    expires: "timestamptz, timestamp or date",
};

/// Returns the API keys stored in a table.
pub(crate) async fn open(database: &Database, name: &str) -> Result<ApiKeys, BoxError> {
    let table = database.find_table(TableName::parse(name)?).await?;
    let columns = column_types(database, &table).await?;
    let create = format!("{};", create_table(&table));
    let keys = KeyTable {
        hashes: TYPES.check(name, &columns, |column, name| column == name, &create)?,
        table: sql::table_ref(&table),
        text: &|column| column.cast_as("text"),
        // A date is the start of its day in UTC.
        seconds: &|time| Expr::cust_with_exprs("CAST(EXTRACT(EPOCH FROM $1) AS double precision)", [time]),
        param: &|number| Expr::cust(format!("${number}")),
        equals: &|left, right| Expr::cust_with_exprs("$1 OPERATOR(pg_catalog.=) $2", [left, right]),
        time: &|time| time,
    };
    Ok(ApiKeys::new::<PostgresQueryBuilder>(database.tables(), &keys))
}

/// Returns the names and types of a table's columns; empty if there is no such table.
async fn column_types(database: &Database, table: &TableName) -> Result<Vec<(String, String)>, PoolError> {
    const COLUMNS: &str = "SELECT a.attname::text, t.typname::text FROM pg_catalog.pg_attribute AS a \
        JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
        WHERE a.attrelid = pg_catalog.to_regclass($1)::oid AND a.attnum > 0 AND NOT a.attisdropped";
    let table = sql::table(table);
    let rows = database.pool.take(false).await?.query_once(COLUMNS, &[TextParam::text(&table)]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Returns the statement that creates a table of API keys.
pub(crate) fn create_table(table: &TableName) -> String {
    let text = |name: &'static str| ColumnDef::new(name).text().take();
    Table::create()
        .table(sql::table_ref(table))
        .if_not_exists()
        .col(text("hash").not_null().primary_key())
        .col(text("owner"))
        .col(text("role"))
        .col(ColumnDef::new("expires").timestamp_with_time_zone())
        .to_string(PostgresQueryBuilder)
}
