//! Which statements has a connection prepared? Those of whole plans, ready to run with the next id.
//!
//! Finding a statement by its text costs more than running it for one row. So the statements of a plan are kept
//! together under the plan's identity, bound to all that does not change from run to run.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use mesh_plan::{JsonBody, Plan, ResolveError};
use rusqlite::{Connection, Statement};

use super::read::{Source, failed};

/// Plans in the newer of two generations; when there are that many it becomes the older, and what is used of
/// the older moves on to the newer.
const PLANS: usize = 64;

/// The prepared statements of one connection.
pub(super) struct Prepared<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    newer: HashMap<usize, Ready<'c>, RandomState>,
    older: HashMap<usize, Ready<'c>, RandomState>,
}

struct Ready<'c> {
    /// Keeps the plan alive, so that no other can take its identity.
    _plan: Plan,
    source: Source<'c>,
}

impl<'c> Prepared<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            begin: connection.prepare("BEGIN")?,
            commit: connection.prepare("COMMIT")?,
            newer: HashMap::default(),
            older: HashMap::default(),
        })
    }

    /// Opens a transaction, whose snapshot the first statement takes.
    pub(super) fn begin(&mut self) -> Result<(), ResolveError> {
        self.begin.raw_execute().map(drop).map_err(failed)
    }

    /// Ends it.
    pub(super) fn commit(&mut self) -> Result<(), ResolveError> {
        self.commit.raw_execute().map(drop).map_err(failed)
    }

    /// Reads a plan inside of a transaction.
    pub(super) fn read(&mut self, connection: &'c Connection, plan: &Plan) -> Result<JsonBody, ResolveError> {
        let identity = plan.identity();
        if let Some(ready) = self.newer.get_mut(&identity) {
            return ready.source.run(plan);
        }
        let mut ready = match self.older.remove(&identity) {
            Some(ready) => ready,
            None => {
                let source = Source::prepare(connection, plan.statements()).map_err(failed)?;
                Ready { _plan: plan.clone(), source }
            }
        };
        let read = ready.source.run(plan);
        if self.newer.len() >= PLANS {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(identity, ready);
        read
    }
}
