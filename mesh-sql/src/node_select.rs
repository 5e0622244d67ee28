//! The select of one node's rows or groups from its table, with its conditions, which all dialects share.

use std::borrow::Cow;

use mesh_plan::Node;
use mesh_plan::plan::{ColumnSource, CompareOp, Grouping, Predicate};
use sea_query::{Expr, Query, SelectStatement};

use crate::class::Class;
use crate::dialect::{Dialect, OperandOf, Operands, ParamsOf};
use crate::links::native_type;
use crate::operand::Operand;
use crate::related::RowOperands;
use crate::{group, param, predicate};

/// The select of a node's rows or groups under construction.
pub(crate) struct NodeSelect<'a, D: Dialect> {
    dialect: &'a D,
    node: &'a Node,
    /// The select, still without columns.
    pub(crate) select: SelectStatement,
    pub(crate) operands: RowOperands<'a, D>,
    /// The condition on the rows that the select does not have yet.
    pub(crate) filter: Option<Cow<'a, Predicate>>,
}

impl<'a, D: Dialect> NodeSelect<'a, D> {
    /// Adds the table of a node under an alias to `select`, which has the parents if their rows are read too. `reads_all` is
    /// whether all rows must be read to find the first ones in their order.
    pub(crate) fn new(
        dialect: &'a D,
        params: &mut ParamsOf<'_, D>,
        node: &'a Node,
        alias: String,
        mut select: SelectStatement,
        reads_all: bool,
    ) -> Self {
        select.from_as(dialect.table(&node.table), alias.clone());
        let operands = RowOperands::new(dialect, params, node, alias, (&mut select, reads_all));
        let filter = node.filter.as_ref().map(Cow::Borrowed);
        Self { dialect, node, select, operands, filter }
    }

    /// Limits the rows to the record with the id of a point read. Returns the id, if it has one part and every record that
    /// refers to the record has the same value.
    pub(crate) fn find_id(&mut self, params: &mut ParamsOf<'_, D>) -> Option<Expr> {
        let mut alone = None;
        for (part, id) in self.node.id.iter().enumerate() {
            let class = D::Class::of_key(native_type(self.node, &id.source));
            let id = Operand { class, ..self.operands.get(&id.source) };
            let wanted = param::id(params, part, &id.class);
            self.select.and_where(id.to_bindable().compare(CompareOp::Eq, wanted.clone()));
            alone = Some(wanted).filter(|_| self.node.id.len() == 1 && id.class.is_identity());
        }
        alone
    }

    /// Adds the node's filter and, if the node has groups, replaces the rows with those that `fold` makes of them.
    pub(crate) fn filter_and_fold(
        &mut self,
        params: &mut ParamsOf<'_, D>,
        fold: impl FnOnce(SelectStatement, &Operands<'_, D>, &Grouping) -> SelectStatement,
    ) {
        let operands = |source: &ColumnSource| self.operands.get(source);
        if let Some(filter) = &self.filter {
            self.select.and_where(predicate::lower(self.dialect, params, &operands, filter));
        }
        let Some(grouping) = &self.node.grouping else { return };
        self.select = fold(self.select.take(), &operands, grouping);
        if let Some(having) = &grouping.having {
            let operands = |source: &ColumnSource| self.operand(source);
            let having = predicate::lower(self.dialect, params, &operands, having);
            self.select.and_where(having);
        }
    }

    /// Returns the operand for a value of the rows or groups.
    pub(crate) fn operand(&self, source: &ColumnSource) -> OperandOf<D> {
        let of_rows = |source: &ColumnSource| self.operands.get(source);
        match &self.node.grouping {
            Some(grouping) => group::operand(self.dialect, &of_rows, grouping, source),
            None => of_rows(source),
        }
    }
}

/// Returns a select, still without columns, of all rows or groups of a node, regardless of pages.
pub(crate) fn all_rows<D: Dialect>(
    dialect: &D,
    params: &mut ParamsOf<'_, D>,
    node: &Node,
    alias: String,
) -> SelectStatement {
    let mut rows = NodeSelect::new(dialect, params, node, alias, Query::select(), false);
    rows.filter_and_fold(params, |rows, operands, grouping| group::fold(dialect, rows, operands, grouping));
    rows.select
}
