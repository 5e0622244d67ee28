//! API keys in a table of the database.

use mesh_backend::api_keys::{ApiKeys, ColumnTypes, KeyTable};
use mesh_schema::TableName;
use sea_query::{ColumnDef, Expr, ExprTrait as _, PostgresQueryBuilder, Table};

use crate::database::Database;
use crate::error::{BoxError, OpenError};
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

impl Database {
    /// Returns the API keys stored in a table. They are read from the primary, because a replica may have a key that has just
    /// been revoked.
    ///
    /// # Errors
    /// The table or some of its columns are missing or have the wrong type ([`OpenError::faults`]), or the database cannot be
    /// reached.
    pub async fn api_keys(&self, table: &str) -> Result<ApiKeys, OpenError> {
        self.open_api_keys(table).await.map_err(|error| self.open_error(error))
    }

    async fn open_api_keys(&self, name: &str) -> Result<ApiKeys, BoxError> {
        let table = self.find_table(TableName::parse(name)?).await?;
        let columns = self.column_types(&table).await?;
        let create = format!("{};", create_table(&table));
        let keys = KeyTable {
            hashes: TYPES.check(name, &columns, |column, name| column == name, &create)?,
            table: sql::table_ref(&table),
            text: &|column| column.cast_as("text"),
            // A date is the start of its day in UTC.
            seconds: &|time| {
                Expr::cust_with_exprs("CAST(EXTRACT(EPOCH FROM $1) AS double precision)", [time])
            },
            param: &|number| Expr::cust(format!("${number}")),
            equals: &|left, right| Expr::cust_with_exprs("$1 OPERATOR(pg_catalog.=) $2", [left, right]),
            time: &|time| time,
        };
        Ok(ApiKeys::new::<PostgresQueryBuilder>(self.tables(), &keys))
    }

    /// Creates a table of API keys unless a table with this name exists.
    ///
    /// # Errors
    /// The database cannot be reached, or the account may not create the table.
    pub async fn create_api_keys_table(&self, table: &str) -> Result<(), OpenError> {
        let table = TableName::parse(table).map_err(|error| self.open_error(error))?;
        let table = sql::qualified(&table, self.default_schema());
        let created = self.writes.execute(&create_table(&table)).await;
        created.map_err(|error| self.open_error(error))
    }

    /// Returns the names and types of a table's columns; empty if there is no such table.
    async fn column_types(&self, table: &TableName) -> Result<Vec<(String, String)>, PoolError> {
        const COLUMNS: &str = "SELECT a.attname::text, t.typname::text FROM pg_catalog.pg_attribute AS a \
            JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
            WHERE a.attrelid = pg_catalog.to_regclass($1)::oid AND a.attnum > 0 AND NOT a.attisdropped";
        let table = sql::table(table);
        let rows = self.pool.take(false).await?.query_once(COLUMNS, &[TextParam::text(&table)]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}

/// Returns the statement that creates a table of API keys.
fn create_table(table: &TableName) -> String {
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
