//! The bound on sorting by values of related records, which no index covers. `SPEC §14.9`

use std::time::{Duration, Instant};

use mesh_plan::backend::{Cache, PlanId};
use mesh_plan::{Plan, ResolveError};

/// The number of plans whose estimates are kept.
const PLANS: usize = 1_024;
/// The time for which an estimate is used.
const AGE: Duration = Duration::from_secs(60);

/// Estimates of the numbers of rows that plans sort, by the ids of the plans.
pub struct SortLimit {
    estimates: Cache<PlanId, (Instant, u64)>,
}

impl Default for SortLimit {
    fn default() -> Self {
        Self { estimates: Cache::bounded(PLANS, usize::MAX) }
    }
}

impl SortLimit {
    /// Refuses a plan that sorts more rows by values of related records than its bound allows. `sorted` estimates the number of
    /// rows that its statement sorts; `None` if this cannot be known now.
    ///
    /// # Errors
    /// [`ResolveError::SortTooLarge`], or an error of `sorted`.
    pub async fn check(
        &self,
        plan: &Plan,
        sorted: impl AsyncFnOnce() -> Result<Option<u64>, ResolveError>,
    ) -> Result<(), ResolveError> {
        let Some(bound) = plan.related_sort_rows() else { return Ok(()) };
        let known = self.estimates.get(plan.id()).filter(|(at, _)| at.elapsed() < AGE);
        let scanned = match known {
            Some((_, rows)) => rows,
            None => {
                let Some(rows) = sorted().await? else { return Ok(()) };
                self.estimates.insert(plan.id().clone(), (Instant::now(), rows), 1);
                rows
            }
        };
        if scanned <= bound {
            return Ok(());
        }
        let hint = "narrow the records with `$where` on a field that has an index".to_owned();
        Err(ResolveError::SortTooLarge { path: plan.node().path.clone(), scanned, bound, hint })
    }
}
