//! The prepared statements of plans on one connection.
//!
//! Looking up a statement by its text costs more than running it for one row. So the statements of a plan are kept together
//! under its id, with the parameters bound that do not change between runs.

use mesh_plan::sql::sqlite::Statements;
use mesh_plan::{JsonBody, LocalGenerations, Plan, PlanId, ResolveError};
use rusqlite::{Connection, Statement};

use crate::read::{StatementTree, failed};

/// The number of plans with prepared statements on one connection.
const PLANS: usize = 128;

/// The prepared statements of one connection.
pub(crate) struct PreparedPlans<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    plans: LocalGenerations<PlanId, StatementTree<'c>>,
}

impl<'c> PreparedPlans<'c> {
    pub(crate) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            begin: connection.prepare("BEGIN")?,
            commit: connection.prepare("COMMIT")?,
            plans: LocalGenerations::new(PLANS),
        })
    }

    /// Begins a transaction. Its first statement takes the snapshot.
    pub(crate) fn begin(&mut self) -> Result<(), ResolveError> {
        self.begin.raw_execute().map(drop).map_err(failed)
    }

    /// Ends the transaction.
    pub(crate) fn commit(&mut self) -> Result<(), ResolveError> {
        self.commit.raw_execute().map(drop).map_err(failed)
    }

    /// Reads a plan inside of a transaction.
    pub(crate) fn read(&mut self, connection: &'c Connection, plan: &Plan) -> Result<JsonBody, ResolveError> {
        if let Some(statements) = self.plans.get_mut(plan.id()) {
            return statements.run(plan);
        }
        let mut statements =
            StatementTree::prepare(connection, &Statements::from_plan(plan)).map_err(failed)?;
        let read = statements.run(plan);
        self.plans.insert(plan.id().clone(), statements, 1);
        read
    }
}
