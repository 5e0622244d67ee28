//! A cache of the statements of plans.

use std::fmt;
use std::sync::Arc;

use mesh_plan::sql::sqlite::Statements;
use mesh_plan::{Generations, Plan, PlanId};

/// The number of plans whose statements are kept.
const PLANS: usize = 1_024;

/// The statements of recent plans by plan id.
pub(crate) struct StatementCache(Generations<PlanId, Arc<Statements>>);

impl StatementCache {
    pub(crate) fn new() -> Self {
        Self(Generations::new(PLANS))
    }

    /// Returns the statements of a plan. Lowers the plan if they are not in the cache.
    pub(crate) fn of_plan(&self, plan: &Plan) -> Arc<Statements> {
        if let Some(statements) = self.0.get(plan.id()) {
            return statements;
        }
        let statements = Arc::new(Statements::from_plan(plan));
        self.0.insert(plan.id().clone(), Arc::clone(&statements), 1);
        statements
    }
}

impl fmt::Debug for StatementCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StatementCache").field(&self.0.len()).finish()
    }
}
