//! Exports: the rows of a plan, sent while they are read. `SPEC §16`

use std::sync::Arc;
use std::time::Instant;

use mesh_backend::transaction::DEFAULT_TIMEOUT;
use mesh_plan::backend::{Export, ExportWriter};
use mesh_plan::{Context, Plan, ResolveError};
use tokio::runtime::Handle;

use super::{StatementTree, failed};
use crate::database::current_file::OpenFile;
use crate::pool::interrupt::Budget;
use crate::pool::{Reader, slow_read_thread};

impl OpenFile {
    /// Exports a plan on a thread of low priority, with a separate connection. An export does not count as a slow read,
    /// because its duration depends on its client.
    pub(crate) async fn export(
        self: &Arc<Self>,
        plan: Plan,
        context: &Context,
        export: Export,
    ) -> Result<u64, ResolveError> {
        let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let mut reader = self.pool.take().map_err(failed)?;
        let _interrupt = reader.interrupt.cancel_on_drop();
        let (file, runtime) = (Arc::clone(self), Handle::current());
        let exporting = slow_read_thread::run(move || {
            let result = reader.export(&plan, deadline, export, &runtime);
            file.pool.release(reader);
            result
        });
        exporting.await?
    }
}

impl Reader {
    /// Exports a plan in one transaction, so that all rows belong to one snapshot.
    fn export(
        &mut self,
        plan: &Plan,
        deadline: Instant,
        mut export: Export,
        runtime: &Handle,
    ) -> Result<u64, ResolveError> {
        self.interrupt.begin(Budget::slow(deadline));
        let left = deadline.saturating_duration_since(Instant::now());
        self.connection.busy_timeout(left).map_err(failed)?;
        let snapshot = self.connection.unchecked_transaction().map_err(failed)?;
        let statements = self.lower(plan)?;
        let mut tree = StatementTree::prepare(&snapshot, &statements).map_err(failed)?;
        tree.bind(plan).map_err(failed)?;
        let mut writer = ExportWriter::new(plan, export.format);
        writer.write(&mut tree, u64::MAX, |piece| runtime.block_on(export.send(piece)))?;
        let records = writer.records();
        runtime.block_on(export.send(writer.finish()))?;
        Ok(records)
    }
}
