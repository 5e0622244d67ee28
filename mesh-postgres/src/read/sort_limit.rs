//! The estimate of the rows that a statement sorts.

use mesh_backend::sort_limit::SortLimit;
use mesh_plan::{Plan, ResolveError};

use crate::pool::PoolError;

/// The steps of a query plan that read tables.
const SCANS: [&str; 5] =
    ["Seq Scan ", "Index Scan ", "Index Only Scan ", "Bitmap Heap Scan ", "Foreign Scan "];

/// Refuses a plan that sorts more rows by values of related records than its bound allows. `steps` returns the query plan of
/// its statement.
pub(crate) async fn check(
    bound: &SortLimit,
    plan: &Plan,
    steps: impl AsyncFnOnce() -> Result<Vec<String>, PoolError>,
) -> Result<(), ResolveError> {
    let sorted = async || match steps().await {
        Ok(steps) => Ok(Some(sorted_rows(&steps))),
        // Another server may answer the read.
        Err(error) if error.is_unreachable() => Ok(None),
        Err(error) => Err(error.into()),
    };
    bound.check(plan, sorted).await
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
