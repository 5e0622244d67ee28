//! A cache of the statements of plans.

use std::sync::Arc;

use mesh_plan::Plan;
use mesh_plan::backend::{Cache, PlanId};
use mesh_sql::{LevelDialect, ParamOf, ReadStatement};

/// The number of plans whose statements are kept.
const PLANS: usize = 1_024;
/// The memory of these statements in bytes.
const BYTES: usize = 16 << 20;

/// The statements of recent plans, by the ids of the plans.
pub struct StatementCache<D: LevelDialect> {
    /// The dialect of the statements.
    pub dialect: D,
    cache: Cache<PlanId, Arc<ReadStatement<ParamOf<D>>>>,
}

impl<D: LevelDialect> StatementCache<D> {
    /// Creates an empty cache.
    pub fn new(dialect: D) -> Self {
        Self { dialect, cache: Cache::bounded(PLANS, BYTES) }
    }

    /// Returns the statement of a plan. The plan is lowered if no cached statement serves this page of it.
    pub fn of_plan(&self, plan: &Plan) -> Arc<ReadStatement<ParamOf<D>>> {
        let cached = self.cache.get(plan.id());
        if let Some(statement) = cached.filter(|statement| statement.serves(plan)) {
            return statement;
        }
        let statement = Arc::new(ReadStatement::from_plan(plan, &self.dialect));
        self.cache.insert(plan.id().clone(), Arc::clone(&statement), statement.bytes());
        statement
    }
}
