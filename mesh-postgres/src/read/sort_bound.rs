//! The bound on orders by values of related records, which no index has. `SPEC §14.9`

use std::time::{Duration, Instant};

use mesh_plan::{Generations, Plan, PlanId, ResolveError};

use crate::pool::PoolError;

/// The number of plans whose estimates are kept.
const PLANS: usize = 1_024;

/// How long an estimate is used.
const AGE: Duration = Duration::from_secs(60);

/// Estimates of how many rows plans sort, by the ids of the plans.
pub(crate) struct SortBound {
    estimates: Generations<PlanId, (Instant, u64)>,
}

impl Default for SortBound {
    fn default() -> Self {
        Self { estimates: Generations::bounded(PLANS, usize::MAX) }
    }
}

impl SortBound {
    /// Refuses a plan whose orders by values of related records sort more rows than its bound allows. `steps` returns the
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

/// Returns the number of rows of the largest sort of a query plan.
fn sorted_rows(steps: &[String]) -> u64 {
    let rows = |step: &String| {
        let step = step.trim_start().trim_start_matches("->").trim_start();
        let (_, rest) = step.strip_prefix("Sort ")?.split_once(" rows=")?;
        rest.split(' ').next()?.parse().ok()
    };
    steps.iter().filter_map(rows).max().unwrap_or(0)
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
        assert_eq!(sorted_rows(&["Seq Scan on posts  (cost=0.00..15.00 rows=3000 width=44)".to_owned()]), 0);
    }
}
