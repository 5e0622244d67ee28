//! The rows or groups of one node.

use mesh_plan::Node;
use mesh_plan::plan::{ColumnSource, CompareOp};
use sea_query::{Expr, SelectStatement};

use super::{LevelDialect, Lowering, Scope, column_name, table_alias};
use crate::class::Class as _;
use crate::dialect::Operands;
use crate::related::RowOperands;
use crate::{group, keyset, param, predicate};

impl<D: LevelDialect> Lowering<'_, D> {
    /// Returns the select of a node's rows or groups, with the number of the node and those of its columns. `select` has the
    /// parents, if their level is read, and `conditions` link the rows to them.
    pub(crate) fn rows(
        &mut self,
        node: &Node,
        (number, columns): (usize, &[usize]),
        select: SelectStatement,
        conditions: Vec<Expr>,
        scope: &Scope,
    ) -> SelectStatement {
        let dialect = self.dialect;
        let is_root = self.levels.is_empty();
        let (alias, mut rows) = (table_alias(number), select);
        rows.from_as(dialect.table(&node.table), alias.clone());
        // The rows of one parent are few.
        let reads_all = is_root && !self.is_point;
        let values = RowOperands::new(&dialect, &mut self.params, node, alias, (&mut rows, reads_all));
        let operands = |source: &ColumnSource| values.get(source);
        for (part, id) in node.id.iter().enumerate().filter(|_| self.is_point && is_root) {
            let id = operands(&id.source);
            let wanted = param::id(&mut self.params, part, &id.class);
            rows.and_where(id.to_bindable().compare(CompareOp::Eq, wanted.clone()));
            // If the record has a condition, its children are read through its level, so that they are not searched for if the
            // condition does not hold.
            let is_alone = node.id.len() == 1 && node.filter.is_none();
            self.id = Some(wanted).filter(|_| is_alone && id.class.is_identity());
        }
        for condition in conditions {
            rows.and_where(condition);
        }
        if let Some(filter) = &node.filter {
            rows.and_where(predicate::lower(&dialect, &mut self.params, &operands, filter));
        }
        let Some(grouping) = &node.grouping else {
            return self.complete(node, rows, columns, &operands, scope);
        };
        let mut groups = D::fold(self, rows, &operands, grouping, scope);
        let operands = |source: &ColumnSource| group::operand(&dialect, &operands, grouping, source);
        if let Some(having) = &grouping.having {
            groups.and_where(predicate::lower(&dialect, &mut self.params, &operands, having));
        }
        self.complete(node, groups, columns, &operands, scope)
    }

    /// Adds the parts that rows and groups share: columns, start, order and limit.
    fn complete(
        &mut self,
        node: &Node,
        mut select: SelectStatement,
        numbers: &[usize],
        operands: &Operands<'_, D>,
        scope: &Scope,
    ) -> SelectStatement {
        let dialect = self.dialect;
        for (known, number) in node.columns.iter().zip(numbers) {
            select.expr_as(operands(&known.source).expr, column_name(*number));
        }
        if node.columns.is_empty() {
            // The columns of a level must have different names.
            select.expr_as(Expr::Constant(1.into()), column_name(self.next()));
        }
        let keys = D::sort_keys(node);
        // Only the root has a cursor.
        if let Some(after) = self.after.filter(|_| self.levels.is_empty()) {
            select.and_where(keyset::after_values(&dialect, &mut self.params, operands, &keys, after));
        }
        dialect.limit(&mut select, node, operands, &keys, scope);
        select
    }
}
