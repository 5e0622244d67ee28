//! Statements on tables that Mesh uses itself.

use std::sync::Arc;

use mesh_backend::pool::{Connection as _, RowBudget};
use mesh_backend::rows::Decoder as _;
use mesh_backend::tables::{Cells, TableError, Tables};
use mesh_backend::transaction::{Failure, Ran};
use mesh_plan::{BoxFuture, Value};
use mysql_async::Error;

use crate::cells::DriverCells;
use crate::database::Database;
use crate::pool::{Pool, PoolError};

/// The tables of a database.
pub(crate) struct ServerTables {
    reads: Arc<Pool>,
    writes: Arc<Pool>,
}

impl Database {
    pub(crate) fn tables(&self) -> ServerTables {
        ServerTables { reads: Arc::clone(&self.pool), writes: Arc::clone(&self.writes) }
    }

    /// Returns the tables for idempotent statements that write.
    pub(crate) fn writable_tables(&self) -> ServerTables {
        ServerTables { reads: Arc::clone(&self.writes), writes: Arc::clone(&self.writes) }
    }
}

impl Tables for ServerTables {
    fn read<'a>(
        &'a self,
        sql: &'a str,
        params: &'a [Value],
    ) -> BoxFuture<'a, Result<Vec<Cells>, TableError>> {
        Box::pin(async move {
            let rows = self.reads.run(sql, params, RowBudget::UNLIMITED).await?;
            Ok(rows.iter().map(DriverCells::values).collect())
        })
    }

    fn transact<'a>(
        &'a self,
        statements: &'a [(&'a str, Cells)],
        fresh: bool,
    ) -> BoxFuture<'a, Result<Vec<Ran<Cells>>, Failure<TableError>>> {
        Box::pin(async move {
            let mut connection = self.writes.take(fresh).await.map_err(TableError::from)?;
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
