//! A cache of the statements of plans.

use std::sync::Arc;

use mesh_plan::Plan;
use mesh_plan::backend::{Generations, PlanId};
use mesh_sql::postgres::{Features, ReadStatement};

use crate::pool::weight::{Weight, Weights};

/// The number of plans whose statements are kept.
const PLANS: usize = 1_024;
/// The memory of these statements in bytes.
const BYTES: usize = 16 << 20;

/// The statements of recent plans, by the ids of the plans.
pub(crate) struct StatementCache {
    /// The optional features of the database.
    pub(crate) features: Features,
    cache: Generations<PlanId, Arc<CachedStatement>>,
    weights: Weights,
}

/// A statement of a plan.
pub(crate) struct CachedStatement {
    pub(crate) read: ReadStatement,
    pub(crate) weight: Arc<Weight>,
}

impl StatementCache {
    pub(crate) fn new(features: Features) -> Self {
        Self { features, cache: Generations::bounded(PLANS, BYTES), weights: Weights::default() }
    }

    /// Returns the statement of a plan. The plan is lowered if no cached statement serves this page of it.
    pub(crate) fn of_plan(&self, plan: &Plan) -> Arc<CachedStatement> {
        let cached = self.cache.get(plan.id());
        if let Some(statement) = cached.filter(|statement| statement.read.serves(plan)) {
            return statement;
        }
        let read = ReadStatement::from_plan(plan, &self.features);
        let weight = self.weights.get_or_insert(&read.statement.sql);
        let bytes = read.bytes();
        let statement = Arc::new(CachedStatement { read, weight });
        self.cache.insert(plan.id().clone(), Arc::clone(&statement), bytes);
        statement
    }
}
