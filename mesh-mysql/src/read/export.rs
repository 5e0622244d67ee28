//! Exports. `SPEC §16`

use mesh_backend::export::{ExportParts, PART};
use mesh_plan::backend::Export;
use mesh_plan::{Plan, ResolveError};
use mesh_sql::mysql::{MySql, ReadStatement};

use super::params;
use crate::cells::DriverCells;
use crate::pool::{Pool, PoolError};

/// Exports a plan in one transaction, so that all rows belong to one snapshot, on a connection outside of the pool.
pub(crate) async fn run(pool: &Pool, plan: &Plan, export: Export) -> Result<u64, ResolveError> {
    let mut connection = pool.take_extra().await?;
    let failed = |error| PoolError::Failed(error).of_read(plan);
    connection.begin_snapshot().await.map_err(failed)?;
    // The deadline of the request ends the export, which may take longer than a read.
    connection.execute("SET SESSION max_statement_time = 0").await.map_err(failed)?;
    let mut parts = ExportParts::new(plan, export);
    let first = ReadStatement::from_plan(plan, &MySql);
    if first.levels <= 1 {
        let values = params(plan, &first);
        let mut rows = connection.open_rows(&first.statement.sql, &values).await.map_err(failed)?;
        loop {
            let part = rows.next(PART).await.map_err(failed)?;
            let is_last = part.len() < PART;
            parts.send::<DriverCells, _>(plan, &first, part).await?;
            if is_last {
                break;
            }
        }
    } else {
        while let Some(page) = parts.next_plan() {
            let statement = ReadStatement::from_plan(&page, &MySql);
            let rows = connection.query(&statement.statement.sql, &params(&page, &statement)).await;
            parts.send::<DriverCells, _>(&page, &statement, rows.map_err(failed)?).await?;
        }
    }
    let records = parts.finish().await?;
    connection.end("COMMIT").await.map_err(failed)?;
    Ok(records)
}
