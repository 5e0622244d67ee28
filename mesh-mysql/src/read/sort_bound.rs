//! The bound on sorting by values of related records, which no index covers. `SPEC §14.9`

use std::time::{Duration, Instant};

use mesh_plan::backend::{Generations, PlanId};
use mesh_plan::{Plan, ResolveError};
use mysql_async::Row;

use crate::cells::{integer, optional_text};
use crate::pool::PoolError;

/// The number of plans whose estimates are kept.
const PLANS: usize = 1_024;

/// The time for which an estimate is used.
const AGE: Duration = Duration::from_secs(60);

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
        steps: impl AsyncFnOnce() -> Result<Vec<Row>, PoolError>,
    ) -> Result<(), ResolveError> {
        let Some(bound) = plan.related_sort_rows() else { return Ok(()) };
        let known = self.estimates.get(plan.id()).filter(|(at, _)| at.elapsed() < AGE);
        let scanned = match known {
            Some((_, rows)) => rows,
            None => {
                let rows = sorted_rows(&steps().await?);
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

/// Returns the largest number of rows that a step reads from a table, if any step sorts. A query plan does not state
/// the number of rows of a sort, and these are the rows of a table with at most one record joined to each.
fn sorted_rows(steps: &[Row]) -> u64 {
    let column = |row: &Row, name: &str| {
        row.columns_ref().iter().position(|column| column.name_str().eq_ignore_ascii_case(name))
    };
    let text = |row: &Row, name: &str| column(row, name).and_then(|index| optional_text(row, index));
    let sorts = |row: &Row| text(row, "Extra").is_some_and(|extra| extra.contains("filesort"));
    if !steps.iter().any(sorts) {
        return 0;
    }
    let is_table = |row: &&Row| text(row, "table").is_some_and(|table| !table.starts_with('<'));
    let rows = |row: &Row| column(row, "rows").and_then(|index| integer(row, index));
    steps.iter().filter(is_table).filter_map(rows).max().map_or(0, i64::unsigned_abs)
}
