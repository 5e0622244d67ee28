//! Exports: the rows of a plan, sent while they are read. `SPEC §16`

use std::sync::Arc;

use mesh_plan::backend::ExportWriter;
use mesh_plan::{Export, Plan, ResolveError};
use mesh_sql::mysql::ReadStatement;
use mysql_async::Row;

use super::{failed, params};
use crate::cells::{LevelRows, NodeRowSource};
use crate::pool::{Pool, PoolError};

/// The number of records that are in memory at a time.
const PART: u32 = 500;

/// Exports a plan in one transaction, so that all rows belong to one snapshot, on a connection outside of the pool.
///
/// A plan without lists has one statement. With lists, a statement returns its rows by level, so each part has its own
/// statement, which begins after the last record of the previous part.
pub(crate) async fn run(pool: &Arc<Pool>, plan: &Plan, mut export: Export) -> Result<u64, ResolveError> {
    let mut link = pool.take_extra().await?;
    let failed = |error| failed(PoolError::Failed(error), plan);
    link.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await.map_err(failed)?;
    link.begin("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await.map_err(failed)?;
    // The deadline of the request ends the export, which may take longer than a read.
    link.execute("SET SESSION max_statement_time = 0").await.map_err(failed)?;
    let mut writer = ExportWriter::new(plan, export.format);
    let first = ReadStatement::from_plan(plan);
    if first.levels <= 1 {
        let values = params(plan, &first);
        let mut rows = link.open_rows(&first.statement.sql, &values).await.map_err(failed)?;
        loop {
            let part = rows.next(PART as usize).await.map_err(failed)?;
            let is_last = part.len() < PART as usize;
            send(&mut export, write(&mut writer, (plan, &first), part)?.0).await?;
            if is_last {
                break;
            }
        }
    } else {
        let mut after: Option<Vec<_>> = None;
        loop {
            let page = plan.export_page(PART, after.as_deref());
            let statement = ReadStatement::from_plan(&page);
            let rows =
                link.query(&statement.statement.sql, &params(&page, &statement)).await.map_err(failed)?;
            let (pieces, has_more) = write(&mut writer, (&page, &statement), rows)?;
            send(&mut export, pieces).await?;
            if !has_more {
                break;
            }
            after = Some(writer.last().to_vec());
        }
    }
    let records = writer.records();
    export.send(writer.finish()).await?;
    link.end("COMMIT").await.map_err(failed)?;
    Ok(records)
}

/// Writes at most a part of the records. Returns the pieces, and whether there are more records.
fn write(
    writer: &mut ExportWriter<'_>,
    (plan, statement): (&Plan, &ReadStatement),
    rows: Vec<Row>,
) -> Result<(Vec<Vec<u8>>, bool), ResolveError> {
    let fetched = LevelRows::new(rows, statement.levels);
    let mut pieces = Vec::new();
    let mut source = NodeRowSource::new(&fetched, &statement.layout, plan.node());
    let has_more = writer.write(&mut source, PART.into(), |piece| {
        pieces.push(piece);
        Ok(())
    })?;
    Ok((pieces, has_more))
}

async fn send(export: &mut Export, pieces: Vec<Vec<u8>>) -> Result<(), ResolveError> {
    for piece in pieces {
        export.send(piece).await?;
    }
    Ok(())
}
