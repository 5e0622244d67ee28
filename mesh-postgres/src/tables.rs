//! Statements on tables that Mesh uses itself, on the primary.

use std::sync::Arc;

use mesh_backend::pool::RowBudget;
use mesh_backend::tables::{Cells, TableError, Tables};
use mesh_plan::{BoxFuture, Value};
use mesh_sql::postgres;

use crate::cells;
use crate::database::Database;
use crate::pool::{Pool, PoolError};
use crate::sql::TextParam;

/// The tables of the primary.
pub(crate) struct PrimaryTables {
    reads: Arc<Pool>,
    writes: Arc<Pool>,
}

impl Database {
    pub(crate) fn tables(&self) -> PrimaryTables {
        PrimaryTables { reads: Arc::clone(&self.pool), writes: Arc::clone(&self.writes) }
    }

    /// Returns the tables for idempotent statements that write.
    pub(crate) fn writable_tables(&self) -> PrimaryTables {
        PrimaryTables { reads: Arc::clone(&self.writes), writes: Arc::clone(&self.writes) }
    }
}

/// Runs statements within their time limit, which the database cannot enforce on a lost connection.
impl Tables for PrimaryTables {
    fn read<'a>(
        &'a self,
        sql: &'a str,
        params: &'a [Value],
    ) -> BoxFuture<'a, Result<Vec<Cells>, TableError>> {
        Box::pin(async move {
            let params = texts(params);
            let run = tokio::time::timeout(
                self.reads.statement_timeout(),
                self.reads.read(sql, &params, RowBudget::UNLIMITED),
            )
            .await;
            let rows = run.unwrap_or(Err(PoolError::TimedOut)).map_err(table_error)?;
            Ok(rows.iter().map(|row| (0..row.len()).map(|cell| cells::value(row, cell)).collect()).collect())
        })
    }

    fn write<'a>(&'a self, sql: &'a str, params: &'a [Cells]) -> BoxFuture<'a, Result<u64, TableError>> {
        Box::pin(async move {
            let writing = async {
                let link = self.writes.take(false).await?;
                let statements: Vec<_> = params.iter().map(|params| (sql, texts(params))).collect();
                let (rows, error) = link.query_all(link.begin(), &statements).await;
                if let Some(error) = error {
                    // If this fails, the connection is closed with its transaction.
                    let _ = link.end("ROLLBACK").await;
                    return Err(PoolError::Failed(error));
                }
                link.end("COMMIT").await?;
                Ok(rows.iter().map(Vec::len).sum::<usize>() as u64)
            };
            let written = tokio::time::timeout(self.writes.statement_timeout(), writing).await;
            written.unwrap_or(Err(PoolError::TimedOut)).map_err(table_error)
        })
    }
}

fn texts(params: &[Value]) -> Vec<TextParam<'static>> {
    params.iter().map(|param| TextParam(postgres::text(param).map(Into::into))).collect()
}

fn table_error(error: PoolError) -> TableError {
    match matches!(error, PoolError::Exhausted) || error.is_unreachable() {
        true => TableError::Unavailable(error.into()),
        false => TableError::Failed(error.into()),
    }
}
