//! Exports: the records of a plan, sent while its rows are read. `SPEC §16`

use mesh_plan::backend::{Export, ExportWriter};
use mesh_plan::{Plan, ResolveError};
use mesh_sql::ReadStatement;

use crate::rows::{Decoder, LevelRows, NodeRowSource};

/// The number of records that are in memory at a time.
pub const PART: usize = 500;

/// The parts of an export.
///
/// A plan without lists has one statement, whose rows are taken in parts. With lists, a statement returns its rows by level, so
/// each part has its own statement, which begins after the last record of the previous part.
pub struct ExportParts<'p> {
    plan: &'p Plan,
    export: Export,
    writer: ExportWriter<'p>,
    has_more: bool,
}

impl<'p> ExportParts<'p> {
    /// Begins to export a plan.
    pub fn new(plan: &'p Plan, export: Export) -> Self {
        let writer = ExportWriter::new(plan, export.format);
        Self { plan, export, writer, has_more: true }
    }

    /// Returns the plan of the next part; `None` after the last one.
    pub fn next_plan(&self) -> Option<Plan> {
        let after = (self.writer.records() > 0).then(|| self.writer.last());
        self.has_more.then(|| self.plan.export_page(PART as u32, after))
    }

    /// Sends a part of the records: the rows of a statement, or of a page of it.
    ///
    /// # Errors
    /// The rows cannot be shown, or the client has left.
    pub async fn send<D: Decoder, P>(
        &mut self,
        plan: &Plan,
        statement: &ReadStatement<P>,
        rows: Vec<D::Row>,
    ) -> Result<(), ResolveError> {
        let mut pieces = Vec::new();
        {
            let fetched = LevelRows::<D>::new(rows, statement.levels);
            let mut source = NodeRowSource::new(&fetched, &statement.layout, plan.node());
            self.has_more = self.writer.write(&mut source, PART as u64, |piece| {
                pieces.push(piece);
                Ok(())
            })?;
        }
        for piece in pieces {
            self.export.send(piece).await?;
        }
        Ok(())
    }

    /// Ends the export, and returns the number of records.
    ///
    /// # Errors
    /// The client has left.
    pub async fn finish(mut self) -> Result<u64, ResolveError> {
        let records = self.writer.records();
        self.export.send(self.writer.finish()).await?;
        Ok(records)
    }
}
