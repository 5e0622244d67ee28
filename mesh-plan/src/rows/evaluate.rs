//! Evaluation of a plan's controls over rows in memory: filter, grouping, order and page.
//!
//! [`crate::memory::Tables`] and the rows of custom resolvers are evaluated by this one implementation.

mod group;
mod order;
mod predicate;
mod records;

pub(crate) use order::equal;
pub(crate) use records::{Records, Row};

use super::applied::Applied;
use crate::plan::{CompareOp, Node, Plan, Predicate, Target};
use crate::{ResolveError, Value};

/// The level of a node in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Root,
    Nested,
}

/// Applies the controls of a node to its rows, or to those of one parent, except the controls that have been applied.
/// The page of the root keeps one more row, which shows that another page follows.
pub(crate) fn apply<'a>(
    mut records: Records<'a>,
    plan: &Plan,
    node: &Node,
    level: Level,
    applied: Applied,
) -> Result<Records<'a>, ResolveError> {
    if !applied.contains(Applied::FILTER) {
        if let (Level::Root, Target::Point(id), Some(column)) = (level, plan.target(), &node.id) {
            filter_by_id(&mut records, column.source.clone(), id)?;
        }
        if let Some(filter) = &node.filter {
            predicate::filter(&mut records, &plan.bound(filter))?;
        }
    }
    if let Some(grouping) = &node.grouping
        && !applied.contains(Applied::GROUP)
    {
        records = group::fold(records, grouping)?;
    }
    if !applied.contains(Applied::ORDER) {
        order::sort(&mut records, &node.order)?;
    }
    if let Some(page) = &node.page
        && !applied.contains(Applied::PAGE)
    {
        let first = page.first as usize;
        let first = match level {
            Level::Root => first.saturating_add(1),
            Level::Nested => first,
        };
        if let (Level::Root, Some(after)) = (level, plan.after()) {
            order::start_after(&mut records, &node.order, after)?;
        }
        records.rows.truncate(first);
    }
    Ok(records)
}

fn filter_by_id(
    records: &mut Records<'_>,
    source: crate::ColumnSource,
    id: &Value,
) -> Result<(), ResolveError> {
    predicate::filter(records, &Predicate::Compare { source, op: CompareOp::Eq, value: id.clone() })
}
