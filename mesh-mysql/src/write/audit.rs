//! A table of the database that the audit log is written to.

use std::fmt;
use std::sync::Arc;

use sea_query::{ColumnDef, Expr, MysqlQueryBuilder, Query, Table};

use crate::database::Database;
use crate::error::OpenError;
use crate::pool::{Pool, PoolError};

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
        let columns = self.columns(name).await.map_err(|error| self.open_error(error))?;
        let is_missing = |name: &&str| !columns.iter().any(|(column, _)| column.eq_ignore_ascii_case(name));
        if COLUMNS.iter().any(is_missing) {
            return Err(self.open_error(format!(
                "'audit.table' needs the table '{name}' with the columns time, event and entry; create it with\n  {};",
                create_table(name)
            )));
        }
        Ok(AuditTable { pool: Arc::clone(&self.writes), insert: insert(name) })
    }
}

fn create_table(table: &str) -> String {
    Table::create()
        .table(table.to_owned())
        .col(ColumnDef::new("time").string_len(40).not_null())
        .col(ColumnDef::new("event").string_len(100).not_null())
        .col(ColumnDef::new("entry").json().not_null())
        .to_string(MysqlQueryBuilder)
}

/// Returns the statement that inserts an entry.
fn insert(table: &str) -> String {
    let cells = [Expr::cust("?"), Expr::cust("?"), Expr::cust("?")];
    let mut insert = Query::insert();
    insert.into_table(table.to_owned()).columns(COLUMNS).values_panic(cells);
    insert.to_string(MysqlQueryBuilder)
}

impl AuditTable {
    /// Inserts the objects of a JSON array, all or none.
    ///
    /// # Errors
    /// The database cannot be reached, or does not accept an entry.
    pub async fn append(&self, entries: &str) -> Result<(), OpenError> {
        let failed =
            |cause: PoolError| OpenError { database: self.pool.name().to_owned(), cause: cause.into() };
        let entries: Vec<serde_json::Value> = serde_json::from_str(entries)
            .map_err(|cause| OpenError { database: self.pool.name().to_owned(), cause: cause.into() })?;
        let inserting = async {
            let mut link = self.pool.take(false).await?;
            link.begin("START TRANSACTION").await?;
            for entry in entries {
                let member = |name: &str| {
                    entry.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().into()
                };
                link.write(&self.insert, &[member("time"), member("event"), entry.to_string().into()])
                    .await?;
            }
            Ok(link.end("COMMIT").await?)
        };
        inserting.await.map_err(failed)
    }
}

impl fmt::Debug for AuditTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditTable").field("insert", &self.insert).finish_non_exhaustive()
    }
}
