//! The bound on sorting by values of related records, which no index covers. `SPEC §14.9`

use std::time::{Duration, Instant};

use mesh_plan::backend::{Generations, PlanId};
use mesh_plan::{Plan, ResolveError};

use crate::pool::PoolError;

/// The number of plans whose estimates are kept.
const PLANS: usize = 1_024;

/// The time for which an estimate is used.
const AGE: Duration = Duration::from_secs(60);

/// The steps of a query plan that read tables.
const SCANS: [&str; 5] =
    ["Seq Scan ", "Index Scan ", "Index Only Scan ", "Bitmap Heap Scan ", "Foreign Scan "];

/// Estimates of the numbers of rows that plans sort, by the ids of the plans.
pub(crate) struct SortBound {
    estimates: Generations<PlanId, (Instant, u64)>,
}

impl Default for SortBound {
    fn default() -> Self {
        Self { estimates: Generations::bounded(PLANS, usize::MAX) }
    }
}

impl SortBound {
    /// Refuses a plan that sorts more rows by values of related records than its bound allows. `steps` returns the
    /// query plan of its statement.
    pub(crate) async fn check(
        &self,
        plan: &Plan,
        steps: impl AsyncFnOnce() -> Result<Vec<String>, PoolError>,
    ) -> Result<(), ResolveError> {
        let Some(bound) = plan.related_sort_rows() else { return Ok(()) };
        let known = self.estimates.get(plan.id()).filter(|(at, _)| at.elapsed() < AGE);
        let scanned = match known {
            Some((_, rows)) => rows,
            None => {
                let rows = match steps().await {
                    Ok(steps) => sorted_rows(&steps),
                    // Another server may answer the read.
                    Err(error) if error.is_unreachable() => return Ok(()),
                    Err(error) => return Err(error.into()),
                };
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

/// Returns the number of rows of the largest sort of a query plan, limited to the number of rows that its table scans
/// return. Without statistics, the planner multiplies the estimates of joins, although each join adds at most one
/// record to a row.
fn sorted_rows(steps: &[String]) -> u64 {
    let rows = |step: &str| step.split_once(" rows=")?.1.split(' ').next()?.parse::<u64>().ok();
    let (mut largest, mut scanned) = (0_u64, 0_u64);
    for step in steps {
        let step = step.trim_start().trim_start_matches("->").trim_start();
        if step.starts_with("Sort ") {
            largest = largest.max(rows(step).unwrap_or(0));
        } else if SCANS.iter().any(|scan| step.trim_start_matches("Parallel ").starts_with(scan)) {
            scanned = scanned.saturating_add(rows(step).unwrap_or(0));
        }
    }
    largest.min(scanned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_sort_counts() {
        let steps = [
            "Limit  (cost=17.35..17.48 rows=51 width=44)",
            "  ->  Sort  (cost=17.35..19.85 rows=1000 width=44)",
            "        Sort Key: (count(*)) DESC",
            "        ->  Incremental Sort  (cost=0.00..15.00 rows=2000 width=44)",
            "        ->  Seq Scan on posts t0  (cost=0.00..15.00 rows=3000 width=44)",
            "              ->  Sort  (cost=0.00..15.00 rows=7 width=44)",
        ];
        assert_eq!(sorted_rows(&steps.map(str::to_owned)), 1000);
        let steps = [
            "  ->  Sort  (cost=17.35..19.85 rows=1000000 width=44)",
            "        ->  Nested Loop Left Join  (cost=0.00..15.00 rows=1000000 width=44)",
            "              ->  Parallel Seq Scan on posts t0  (cost=0.00..15.00 rows=3000 width=44)",
            "              ->  Index Only Scan using users_pkey on users t1  (cost=0.00..15.00 rows=7 width=44)",
            "              ->  CTE Scan on r1  (cost=0.00..15.00 rows=9999 width=44)",
        ];
        assert_eq!(sorted_rows(&steps.map(str::to_owned)), 3007);
        assert_eq!(sorted_rows(&["Seq Scan on posts  (cost=0.00..15.00 rows=3000 width=44)".to_owned()]), 0);
    }
}
