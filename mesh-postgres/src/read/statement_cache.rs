//! A cache of the statements of plans.

use std::sync::Arc;

use mesh_plan::sql::postgres::{Features, ReadStatement};
use mesh_plan::{Generations, Plan, PlanId};

/// How many plans keep their statements.
const PLANS: usize = 1_024;

/// The statements of recent plans, by the ids of the plans.
pub(crate) struct StatementCache {
    features: Features,
    kept: Generations<PlanId, Arc<ReadStatement>>,
}

impl StatementCache {
    pub(crate) fn new(features: Features) -> Self {
        Self { features, kept: Generations::new(PLANS) }
    }

    /// What the database can do.
    pub(crate) fn features(&self) -> Features {
        self.features
    }

    /// Returns the statement of a plan, which is lowered if no statement in the cache serves this page of it.
    pub(crate) fn of_plan(&self, plan: &Plan) -> Arc<ReadStatement> {
        let kept = self.kept.get(plan.id());
        if let Some(statement) = kept.filter(|statement| statement.serves(plan)) {
            return statement;
        }
        let statement = Arc::new(ReadStatement::from_plan(plan, self.features));
        self.kept.insert(plan.id().clone(), Arc::clone(&statement), 1);
        statement
    }
}
