//! The prepared statements of plans on one connection.
//!
//! Finding a statement by its text costs more than running it for one row. So the statements of a plan are kept together
//! under its id, with all parameters bound that do not change between runs.

use mesh_plan::{JsonBody, LocalGenerations, Plan, PlanId, ResolveError};
use rusqlite::{Connection, Statement};

use crate::read::{StatementTree, failed};
use crate::statements::StatementCache;

/// Plans with prepared statements on one connection.
const PLANS: usize = 128;

/// The prepared statements of one connection.
pub(crate) struct PreparedPlans<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    ready: LocalGenerations<PlanId, StatementTree<'c>>,
}

impl<'c> PreparedPlans<'c> {
    pub(crate) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            begin: connection.prepare("BEGIN")?,
            commit: connection.prepare("COMMIT")?,
            ready: LocalGenerations::new(PLANS),
        })
    }

    /// Opens a transaction, whose snapshot the first statement takes.
    pub(crate) fn begin(&mut self) -> Result<(), ResolveError> {
        self.begin.raw_execute().map(drop).map_err(failed)
    }

    /// Ends it.
    pub(crate) fn commit(&mut self) -> Result<(), ResolveError> {
        self.commit.raw_execute().map(drop).map_err(failed)
    }

    /// Reads a plan inside of a transaction.
    pub(crate) fn read(
        &mut self,
        connection: &'c Connection,
        plan: &Plan,
        statements: &StatementCache,
    ) -> Result<JsonBody, ResolveError> {
        if let Some(source) = self.ready.get_mut(plan.id()) {
            return source.run(plan);
        }
        let mut source = StatementTree::prepare(connection, &statements.of_plan(plan)).map_err(failed)?;
        let read = source.run(plan);
        self.ready.insert(plan.id().clone(), source, 1);
        read
    }
}
