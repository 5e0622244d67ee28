//! The mutator of an engine.

use std::fmt;
use std::sync::Arc;

use mesh_plan::backend::{Script, ScriptError, StepResult};
use mesh_plan::mutation::Outcome;
use mesh_plan::{BoxFuture, Context, Mutator};

use super::{End, Engine, run};

/// Writes to a database. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Writer<E> {
    engine: E,
    end: End,
}

impl<E> Writer<E> {
    /// Creates a writer. With [`End::Discard`], it rolls each write back after all its checks.
    pub fn new(engine: E, end: End) -> Self {
        Self { engine, end }
    }
}

impl<E: Engine + 'static> Mutator for Writer<E> {
    fn transact(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Option<BoxFuture<'_, Outcome<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(async move { run(&self.engine, &*script, &context, self.end).await }))
    }
}

impl<E> fmt::Debug for Writer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("end", &self.end).finish_non_exhaustive()
    }
}
