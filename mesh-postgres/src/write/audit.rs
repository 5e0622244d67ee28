//! A table of the database that the audit log is written to.

use std::fmt;
use std::sync::Arc;

use mesh_schema::TableName;
use sea_query::{ColumnDef, Expr, ExprTrait as _, Func, PostgresQueryBuilder, Query, Table};

use crate::database::Database;
use crate::error::OpenError;
use crate::pool::{Pool, PoolError};
use crate::sql::{self, TextParam};

/// The columns of the table.
const COLUMNS: [&str; 3] = ["time", "event", "entry"];

/// A table of audit entries.
pub struct AuditTable {
    pool: Arc<Pool>,
    insert: String,
}

impl Database {
    /// Returns the table of audit entries. Its columns `time`, `event` and `entry` get the members `time` and `event` of each
    /// entry, and the entry itself.
    ///
    /// # Errors
    /// The table or some of its columns are missing, or the database cannot be reached.
    pub async fn audit_table(&self, name: &str) -> Result<AuditTable, OpenError> {
        let named = TableName::parse(name).map_err(|error| self.open_error(error))?;
        let table = self.find_table(named).await.map_err(|error| self.open_error(error))?;
        let columns = self.columns(&table).await.map_err(|error| self.open_error(error))?;
        if COLUMNS.iter().any(|column| !columns.iter().any(|one| one == column)) {
            return Err(self.open_error(format!(
                "'audit.table' needs the table '{name}' with the columns time, event and entry; create it with\n  {};",
                create_table(&table)
            )));
        }
        Ok(AuditTable { pool: Arc::clone(&self.writes), insert: insert(&table) })
    }
}

fn create_table(table: &TableName) -> String {
    Table::create()
        .table(sql::table_ref(table))
        .col(ColumnDef::new("time").timestamp_with_time_zone().not_null())
        .col(ColumnDef::new("event").text().not_null())
        .col(ColumnDef::new("entry").json_binary().not_null())
        .to_string(PostgresQueryBuilder)
}

/// Returns the statement that inserts the elements of a JSON array.
fn insert(table: &TableName) -> String {
    // A function that returns one column gives it the name of its alias.
    let entry = || Expr::col("entry");
    let member = |name: &'static str| {
        Expr::cust_with_exprs("$1 OPERATOR(pg_catalog.->>) $2", [entry(), Expr::val(name)])
    };
    let elements = Func::cust("jsonb_array_elements").arg(Expr::cust("$1").cast_as("jsonb"));
    let select = Query::select()
        .expr(member("time").cast_as("timestamptz"))
        .expr(member("event"))
        .expr(entry())
        .from_function(elements, "entry")
        .take();
    let mut insert = Query::insert();
    insert.into_table(sql::table_ref(table)).columns(COLUMNS);
    // This cannot fail, because the numbers of columns agree.
    let _ = insert.select_from(select);
    insert.to_string(PostgresQueryBuilder)
}

impl AuditTable {
    /// Inserts the objects of a JSON array, all or none.
    ///
    /// # Errors
    /// The database cannot be reached, or does not accept an entry.
    pub async fn append(&self, entries: &str) -> Result<(), OpenError> {
        let failed =
            |cause: PoolError| OpenError { database: self.pool.name().to_owned(), cause: cause.into() };
        let inserting = async {
            // The statement is not repeated if the connection is lost, because it may have been committed.
            let link = self.pool.take(false).await?;
            link.query_once(&self.insert, &[TextParam::text(entries)]).await.map_err(PoolError::Failed)
        };
        let inserted = tokio::time::timeout(self.pool.statement_timeout(), inserting).await;
        inserted.unwrap_or(Err(PoolError::TimedOut)).map(drop).map_err(failed)
    }
}

impl fmt::Debug for AuditTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditTable").field("insert", &self.insert).finish_non_exhaustive()
    }
}
