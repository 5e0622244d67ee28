//! Statements on tables that Mesh uses itself.

use mesh_backend::own_table::{ApiKeyDialect, ColumnTypes, TableDialect};
use mesh_backend::pool::{Connection as _, RowBudget};
use mesh_backend::rows::Decoder as _;
use mesh_backend::tables::{Cells, TableError, Tables};
use mesh_backend::transaction::{Failure, Ran};
use mesh_plan::{BoxFuture, Value};
use mysql_async::Error;

use crate::cells::DriverCells;
use crate::pool::{Pool, PoolError};

/// The SQL for tables that Mesh uses itself.
pub(crate) const DIALECT: TableDialect = TableDialect {
    is_same: str::eq_ignore_ascii_case,
    api_keys: ApiKeyDialect {
        types: Some(ColumnTypes {
            texts: &["char", "varchar", "tinytext", "text", "longtext"],
            bytes: &["binary", "varbinary"],
            times: &["timestamp", "datetime", "date"],
            hash: "text or binary(32)",
            expires: "timestamp, datetime or date",
        }),
        new_types: ["char(64)", "datetime"],
        selected: "hash, CAST(owner AS CHAR), CAST(role AS CHAR), TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', expires)",
        equals: "=",
        // Without the zone of a time, which is that of the session.
        params: ["?", "?", "?", "LEFT(?, 19)"],
    },
    audit_types: ["varchar(40)", "varchar(100)", "json"],
    audit_params: ["?"; 3],
};

impl Tables for Pool {
    fn read<'a>(
        &'a self,
        sql: &'a str,
        params: &'a [Value],
    ) -> BoxFuture<'a, Result<Vec<Cells>, TableError>> {
        Box::pin(async move {
            let rows = self.run(sql, params, RowBudget::UNLIMITED).await?;
            Ok(rows.iter().map(DriverCells::values).collect())
        })
    }

    fn transact<'a>(
        &'a self,
        statements: &'a [(&'a str, Cells)],
        fresh: bool,
    ) -> BoxFuture<'a, Result<Vec<Ran<Cells>>, Failure<TableError>>> {
        Box::pin(async move {
            let mut connection = self.take(fresh).await.map_err(TableError::from)?;
            let running = async {
                connection.begin("START TRANSACTION").await?;
                let mut all = Vec::new();
                for (sql, params) in statements {
                    let Ran { rows, count } = connection.write(sql, params).await?;
                    all.push(Ran { rows: rows.iter().map(DriverCells::values).collect(), count });
                }
                connection.end("COMMIT").await?;
                Ok(all)
            };
            let ran: Result<_, Error> = running.await;
            if ran.is_err() && !connection.is_running() {
                // If this fails, the connection is closed with its transaction.
                let _ = connection.end("ROLLBACK").await;
            }
            ran.map_err(|error| PoolError::Failed(error).failure(TableError::from))
        })
    }
}
