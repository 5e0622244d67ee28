//! Evaluation of a plan's controls over rows in memory: filter, grouping, order and page.

mod group;
mod order;
mod predicate;
mod records;
mod search;

pub use group::Total;
pub(super) use records::{Records, Row};
pub(super) use search::SearchCells;

use super::{Applied, DeadlineCheck};
use crate::ResolveError;
use crate::plan::{CompareOp, Node, Plan, Predicate, ReadTarget};

/// The level of a node in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Root,
    Nested,
}

/// One evaluation of a plan.
pub(super) struct Evaluation<'a> {
    pub(super) plan: &'a Plan,
    /// The controls that the resolver has applied.
    pub(super) applied: Applied,
    pub(super) deadline: &'a DeadlineCheck,
}

/// Applies the controls of a node that have not been applied yet, to all its rows or to the rows of one parent. The page of
/// the root keeps one more row if another page follows. Also returns the number of rows before the page.
pub(super) fn apply<'a>(
    mut records: Records<'a>,
    evaluation: &Evaluation<'_>,
    node: &Node,
    level: Level,
) -> Result<(Records<'a>, u64), ResolveError> {
    let Evaluation { plan, applied, deadline } = *evaluation;
    let is_root = level == Level::Root;
    if !applied.contains(Applied::FILTER) {
        if let (true, ReadTarget::Point(key)) = (is_root, plan.target()) {
            for (column, value) in node.id.iter().zip(key.iter()) {
                let (source, value) = (column.source.clone(), value.clone().into());
                predicate::filter(
                    &mut records,
                    &Predicate::Compare { source, op: CompareOp::Eq, value },
                    deadline,
                )?;
            }
        }
        if let Some(filter) = &node.filter {
            predicate::filter(&mut records, &plan.bind(filter), deadline)?;
        }
    }
    if let Some(grouping) = &node.grouping
        && !applied.contains(Applied::GROUP)
    {
        records = group::fold(records, evaluation, grouping)?;
    }
    let total = records.rows.len() as u64;
    if !applied.contains(Applied::ORDER) {
        if node.sorts_related()
            && let Some(bound) = plan.related_sort_rows().filter(|bound| total > *bound)
        {
            let hint = "narrow the rows with `$where`".to_owned();
            return Err(ResolveError::SortTooLarge { path: node.path.clone(), scanned: total, bound, hint });
        }
        order::sort(&mut records, &node.order, deadline)?;
    }
    if let Some(page) = &node.page
        && !applied.contains(Applied::PAGE)
    {
        if let (true, Some(cursor)) = (is_root, plan.cursor()) {
            order::start_after(&mut records, &node.order, cursor)?;
        }
        records.rows.drain(..records.rows.len().min(plan.skipped_rows(page) as usize));
        records.rows.truncate((plan.page_size(page) as usize).saturating_add(is_root.into()));
    }
    Ok((records, total))
}
