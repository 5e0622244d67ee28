//! The rows or groups of a root that are counted, regardless of pages.

use mesh_plan::Node;
use mesh_plan::plan::ColumnSource;
use sea_query::{Query, SelectStatement};

use crate::dialect::{Dialect, ParamsOf};
use crate::related::RowOperands;
use crate::{group, predicate};

/// Returns a select, still without columns, of all rows or groups of a node.
pub(crate) fn all_rows<D: Dialect>(
    dialect: &D,
    params: &mut ParamsOf<D>,
    node: &Node,
    alias: String,
) -> SelectStatement {
    let mut rows = Query::select();
    rows.from_as(dialect.table(&node.table), alias.clone());
    let values = RowOperands::new(dialect, params, node, alias, (&mut rows, false));
    let operands = |source: &ColumnSource| values.get(source);
    if let Some(filter) = &node.filter {
        rows.and_where(predicate::lower(dialect, params, &operands, filter));
    }
    if let Some(grouping) = &node.grouping {
        rows = group::fold(dialect, rows, &operands, grouping);
        let operands = |source: &ColumnSource| group::operand(dialect, &operands, grouping, source);
        if let Some(having) = &grouping.having {
            rows.and_where(predicate::lower(dialect, params, &operands, having));
        }
    }
    rows
}
