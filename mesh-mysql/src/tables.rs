//! Statements on tables that Mesh uses itself.

use std::sync::Arc;

use mesh_backend::rows::Decoder as _;
use mesh_backend::tables::{Cells, TableError, Tables};
use mesh_plan::{BoxFuture, Value};

use crate::cells::DriverCells;
use crate::database::Database;
use crate::pool::{Pool, PoolError};
use mesh_backend::pool::RowBudget;

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
            let rows = self.reads.run(sql, params, RowBudget::UNLIMITED).await.map_err(table_error)?;
            Ok(rows.iter().map(DriverCells::values).collect())
        })
    }

    fn write<'a>(&'a self, sql: &'a str, params: &'a [Cells]) -> BoxFuture<'a, Result<u64, TableError>> {
        Box::pin(async move {
            let mut link = self.writes.take(false).await.map_err(table_error)?;
            let writing = async {
                link.begin("START TRANSACTION").await?;
                let mut count = 0;
                for params in params {
                    count += link.write(sql, params).await?.count;
                }
                link.end("COMMIT").await?;
                Ok(count)
            };
            let written = writing.await;
            if written.is_err() && !link.is_running() {
                // If this fails, the connection is closed with its transaction.
                let _ = link.end("ROLLBACK").await;
            }
            written.map_err(|error| table_error(PoolError::Failed(error)))
        })
    }
}

fn table_error(error: PoolError) -> TableError {
    match matches!(error, PoolError::Exhausted) || error.is_unreachable() {
        true => TableError::Unavailable(error.into()),
        false => TableError::Failed(error.into()),
    }
}
