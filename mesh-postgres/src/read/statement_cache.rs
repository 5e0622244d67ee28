//! A cache of the statements of plans.

use std::sync::Arc;

use mesh_plan::Plan;
use mesh_plan::backend::{Cache, PlanId};
use mesh_sql::postgres::{Features, ReadStatement};

/// The number of plans whose statements are kept.
const PLANS: usize = 1_024;
/// The memory of these statements in bytes.
const BYTES: usize = 16 << 20;

/// The statements of recent plans, by the ids of the plans.
pub(crate) struct StatementCache {
    /// The optional features of the database.
    pub(crate) features: Features,
    cache: Cache<PlanId, Arc<ReadStatement>>,
}

impl StatementCache {
    pub(crate) fn new(features: Features) -> Self {
        Self { features, cache: Cache::bounded(PLANS, BYTES) }
    }

    /// Returns the statement of a plan. The plan is lowered if no cached statement serves this page of it.
    pub(crate) fn of_plan(&self, plan: &Plan) -> Arc<ReadStatement> {
        let cached = self.cache.get(plan.id());
        if let Some(statement) = cached.filter(|statement| statement.serves(plan)) {
            return statement;
        }
        let statement = Arc::new(ReadStatement::from_plan(plan, &self.features));
        self.cache.insert(plan.id().clone(), Arc::clone(&statement), statement.bytes());
        statement
    }
}
