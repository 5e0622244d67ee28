//! The rows or groups of one node, as the statement of a level.

use mesh_ql::AggregateFn;
use sea_query::{
    Expr, ExprTrait as _, Func, JoinType, OverStatement as _, Query, SelectStatement, WindowStatement,
};

use super::{Lowering, Parents, column_name, sort_name, table_alias};
use crate::class::Class as _;
use crate::dialect::{Dialect as _, Operands};
use crate::group;
use crate::links::{JUNCTION, linked};
use crate::mysql::dialect::MySql;
use crate::mysql::render::{self, PARENT_NUMBER, PARENTS, ROW_IN_PARENT, ROW_NUMBER};
use crate::mysql::type_class::TypeClass;
use crate::order::{order_by, sort_terms};
use crate::predicate::{self, compare};
use crate::related::RowOperands;
use crate::{keyset, param};
use mesh_plan::Value;
use mesh_plan::{ColumnSource, CompareOp, Grouping, Node, SortKey};

/// The alias of the groups of parents that have records.
const NONEMPTY_GROUPS: &str = "x";

/// The rows or groups of a node that a statement selects.
struct RowSelection<'a> {
    /// The sort values of the row after which the rows start.
    after: Option<&'a [Value]>,
    limit: Option<u64>,
    /// The number of the parent, if there are several parents.
    parent_number: Option<Expr>,
    /// Whether to add columns by which the rows can be sorted.
    is_sorted: bool,
}

/// Returns the order of a node. A group of dates without a month or a day is NULL, even if the column cannot hold NULL.
pub(super) fn sort_keys(node: &Node) -> Vec<SortKey> {
    let is_date = |source: &ColumnSource| match source {
        ColumnSource::Column(column) => TypeClass::new(node.native.get(column)).is_date(),
        _ => false,
    };
    let nullable = |key: &SortKey| key.nullable || (node.grouping.is_some() && is_date(&key.source));
    node.order.iter().map(|key| SortKey { nullable: nullable(key), ..key.clone() }).collect()
}

impl Lowering<'_> {
    /// Returns the statement for a node's rows or groups. If there are parents, it is limited to their rows.
    pub(super) fn rows(
        &mut self,
        node: &Node,
        number: usize,
        columns: &[usize],
        parents: Option<&Parents<'_>>,
        limit: Option<u64>,
    ) -> SelectStatement {
        let dialect = self.dialect;
        let alias = table_alias(number);
        let is_root = self.levels.is_empty();
        let mut rows = Query::select();
        // The parents come before the table, because joins apply to the last table of the list.
        let level = parents.and_then(|parents| parents.level);
        if let Some(level) = level {
            render::add_from(&mut rows, &self.levels, level, PARENTS);
        }
        rows.from_as(dialect.table(&node.table), alias.clone());
        let lower = if is_root && !self.point { RowOperands::for_ordered_rows } else { RowOperands::new };
        let values = lower(&dialect, &mut self.params, node, alias.clone(), &mut rows);
        let operands = |source: &ColumnSource| values.get(source);
        for (part, id) in node.id.iter().enumerate().filter(|_| self.point && is_root) {
            let id = operands(&id.source);
            let wanted = param::id(&mut self.params, part, &id.class);
            rows.and_where(id.to_bindable().compare(CompareOp::Eq, wanted.clone()));
            // If the record has a condition, its children are read through its level, so that they are not searched for if the
            // condition does not hold.
            let is_alone = node.id.len() == 1 && node.filter.is_none();
            self.id = Some(wanted).filter(|_| is_alone && id.class.is_identity());
        }
        if let Some(parents) = parents {
            let keys = parents.keys.iter().cloned();
            rows.and_where(linked(&dialect, parents.node, (parents.link, node), (&alias, JUNCTION), keys));
            if let Some(row_number_max) = &parents.row_number_max {
                rows.and_where(compare(
                    Expr::col((PARENTS, ROW_NUMBER)),
                    CompareOp::Lte,
                    row_number_max.clone(),
                ));
            }
        }
        if let Some(filter) = &node.filter {
            rows.and_where(predicate::lower(&dialect, &mut self.params, &operands, filter));
        }
        // Only the root has a cursor.
        let after = self.after.filter(|_| is_root);
        let is_sorted = is_root && !self.point || parents.is_some();
        let parent_number = level.map(|_| Expr::col((PARENTS, ROW_NUMBER)));
        let Some(grouping) = &node.grouping else {
            let selection = RowSelection { after, limit, parent_number, is_sorted };
            return self.complete(node, rows, columns, &operands, selection);
        };
        let mut groups = match parents {
            Some(parents) if parents.level.is_some() => {
                let number = Expr::col((PARENTS, ROW_NUMBER));
                rows.expr_as(number.clone(), PARENT_NUMBER).add_group_by([number]);
                let found = group::groups(&dialect, rows, &operands, grouping);
                let all = if grouping.keys.is_empty() {
                    self.of_all_parents(found, grouping, parents)
                } else {
                    found
                };
                group::named(all)
            }
            _ => group::fold(&dialect, rows, &operands, grouping),
        };
        let operands = |source: &ColumnSource| group::operand(&dialect, &operands, grouping, source);
        if let Some(having) = &grouping.having {
            groups.and_where(predicate::lower(&dialect, &mut self.params, &operands, having));
        }
        let parent_number = level.map(|_| Expr::col(PARENT_NUMBER));
        self.complete(
            node,
            groups,
            columns,
            &operands,
            RowSelection { after, limit, parent_number, is_sorted },
        )
    }

    /// Adds the parts that rows and groups share: columns, start, order and limit. Rows of several parents are numbered within
    /// each parent.
    fn complete(
        &mut self,
        node: &Node,
        mut select: SelectStatement,
        numbers: &[usize],
        operands: &Operands<'_, MySql<'_>>,
        RowSelection { after, limit, parent_number, is_sorted }: RowSelection<'_>,
    ) -> SelectStatement {
        let dialect = self.dialect;
        for (known, number) in node.columns.iter().zip(numbers) {
            select.expr_as(operands(&known.source).expr, column_name(*number));
        }
        if node.columns.is_empty() {
            // The columns of a common table expression must have different names.
            select.expr_as(Expr::Constant(1.into()), column_name(self.next()));
        }
        let keys = sort_keys(node);
        if let Some(after) = after {
            select.and_where(keyset::after_values(&dialect, &mut self.params, operands, &keys, after));
        }
        let terms: Vec<_> = sort_terms(&self.dialect, operands, &keys).collect();
        if let Some(parent_number) = parent_number {
            let mut window = WindowStatement::new();
            window.add_partition_by(parent_number.clone());
            order_by(&mut window, terms);
            select.expr_window_as(Func::cust("ROW_NUMBER"), window, ROW_IN_PARENT);
            select.expr_as(parent_number, PARENT_NUMBER);
            return select;
        }
        // A record that is joined to its parent needs no order.
        let sorted = if is_sorted { keys.as_slice() } else { &[] };
        for (index, key) in sorted.iter().enumerate() {
            select.expr_as(operands(&key.source).comparable().expr, sort_name(index));
        }
        if let Some(limit) = limit {
            order_by(&mut select, terms);
            select.limit(limit);
        }
        select
    }

    /// Returns the single group of each parent, including parents without records, for which `found` has no group.
    fn of_all_parents(
        &self,
        found: SelectStatement,
        grouping: &Grouping,
        parents: &Parents<'_>,
    ) -> SelectStatement {
        let number = || Expr::col((PARENTS, ROW_NUMBER));
        let mut all = Query::select();
        all.expr_as(number(), PARENT_NUMBER);
        for (index, call) in grouping.aggregates.iter().enumerate() {
            let name = group::aggregate_name(index);
            let value = Expr::col((NONEMPTY_GROUPS, name.clone()));
            let value = match call.function {
                AggregateFn::Count => Func::coalesce([value, Expr::Constant(0.into())]).into(),
                _ => value,
            };
            all.expr_as(value, name);
        }
        render::add_from(&mut all, &self.levels, parents.level.unwrap_or_default(), PARENTS);
        let same = Expr::col((NONEMPTY_GROUPS, PARENT_NUMBER)).eq(number());
        all.join_subquery(JoinType::LeftJoin, found, NONEMPTY_GROUPS, same);
        if let Some(row_number_max) = &parents.row_number_max {
            all.and_where(compare(number(), CompareOp::Lte, row_number_max.clone()));
        }
        all
    }
}
