//! Exports. `SPEC §16`

use std::time::Instant;

use mesh_backend::export::{ExportParts, PART};
use mesh_plan::backend::Export;
use mesh_plan::{Plan, ResolveError};
use mesh_sql::postgres::{Postgres, ReadStatement};

use super::params;
use crate::cells::BinaryCells;
use crate::pool::{Pool, PoolError};

/// Exports a plan in one transaction, so that all rows belong to one snapshot, on a connection outside of the pool.
pub(crate) async fn run(
    pool: &Pool,
    plan: &Plan,
    dialect: &Postgres,
    deadline: Instant,
    export: Export,
) -> Result<u64, ResolveError> {
    let connection = pool.take_extra().await?;
    let failed = |error| PoolError::Failed(error).of_read(plan);
    connection.begin_snapshot().await.map_err(failed)?;
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    connection.execute(&format!("SET LOCAL statement_timeout = {left}")).await.map_err(failed)?;
    let mut parts = ExportParts::new(plan, export);
    let first = ReadStatement::from_plan(plan, dialect);
    if first.levels <= 1 {
        let values = params(plan, &first);
        let mut rows = connection.open_rows(&first.statement.sql, &values).await.map_err(failed)?;
        loop {
            let part = rows.next(PART).await.map_err(failed)?;
            let is_last = part.len() < PART;
            parts.send::<BinaryCells, _>(plan, &first, part).await?;
            if is_last {
                break;
            }
        }
    } else {
        while let Some(page) = parts.next_plan() {
            let statement = ReadStatement::from_plan(&page, dialect);
            let rows = connection.query(&statement.statement.sql, &params(&page, &statement)).await;
            parts.send::<BinaryCells, _>(&page, &statement, rows.map_err(failed)?).await?;
        }
    }
    let records = parts.finish().await?;
    connection.end("COMMIT").await.map_err(failed)?;
    Ok(records)
}
