//! API keys in a table of the served database.

use mesh_backend::api_keys::{ApiKeys, HashColumn, KeyTable};
use mesh_backend::error::BoxError;
use mesh_integrity::check_api_key_columns;
use sea_query::{ColumnDef, Expr, ExprTrait as _, IntoTableRef as _, SqliteQueryBuilder, Table};

use crate::database::Database;
use crate::tables;

/// Converts a time to seconds: a text that SQLite's date functions read, in UTC unless the text states otherwise, or seconds or
/// milliseconds since 1970. A time that cannot be read has passed.
const SECONDS: &str = "CASE typeof(?) WHEN 'null' THEN NULL WHEN 'real' THEN ? WHEN 'integer' THEN \
    CASE WHEN ? > 100000000000 THEN ? / 1000 ELSE ? END ELSE coalesce(unixepoch(?), 0) END";

/// Returns the API keys stored in a table.
pub(crate) fn open(database: &Database, table: &str) -> Result<ApiKeys, BoxError> {
    let columns = tables::columns(&database.path(), table)?;
    let create = format!("{};", create_table(table));
    check_api_key_columns(table, &columns, str::eq_ignore_ascii_case, &create)?;
    let keys = KeyTable {
        table: table.to_owned().into_table_ref(),
        hashes: HashColumn::Any,
        text: &|column| column,
        seconds: &|time| Expr::cust_with_exprs(SECONDS, std::iter::repeat_n(time, 6)),
        param: &|number| Expr::cust(format!("?{number}")),
        equals: &|left, right| left.eq(right),
        time: &|time| time,
    };
    Ok(ApiKeys::new::<SqliteQueryBuilder>(database.tables(), &keys))
}

/// Returns the statement that creates a table of API keys.
pub(crate) fn create_table(table: &str) -> String {
    let text = |name: &'static str| ColumnDef::new(name).text().take();
    Table::create()
        .table(table.to_owned())
        .if_not_exists()
        .col(text("hash").not_null().primary_key())
        .col(text("owner"))
        .col(text("role"))
        .col(text("expires"))
        .to_string(SqliteQueryBuilder)
}

#[cfg(test)]
mod tests;
