//! The one statement of a plan, with the layout of its rows.

use std::sync::Arc;

use mesh_plan::Plan;

use crate::class::Class;
use crate::param::Param;
use crate::statement::Statement;

/// The statement of a plan, with the layout that is needed to read its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadStatement<P> {
    /// The statement.
    pub statement: Statement<P>,
    /// The number of levels. If there is more than one, each row begins with three numbers: the number of its level, of its
    /// parent's row and of the row within its level.
    pub levels: usize,
    /// The text of a statement for several point reads that differ only in their ids, if there is one.
    pub batch: Option<Arc<str>>,
    /// The layout of the root node and its joins.
    pub layout: Layout,
    /// Whether the form of the statement depends on a value of a cursor or a parameter, not only on its type.
    pub(crate) depends_on_values: bool,
}

/// The positions of the columns of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The level whose rows contain the columns.
    pub level: usize,
    /// The index in a row of each of the node's columns; `None` for columns that only the statement needs.
    pub columns: Vec<Option<usize>>,
    /// Which of the node's columns are times in UTC, of a type with a zone.
    pub timestamps: Vec<bool>,
    /// For a to-one relation in the level of its parent, the index of a cell that is NULL if there is no record.
    pub presence: Option<usize>,
    /// The layouts of its joins, in the plan's order.
    pub joins: Vec<Self>,
    /// For a root whose rows are counted, the level and the index of the cell with the number of rows.
    pub total: Option<(usize, usize)>,
}

impl<C: Class> ReadStatement<Param<C>> {
    /// Returns the estimated size of the statement in bytes. The text is its largest part.
    pub fn bytes(&self) -> usize {
        let params = size_of_val(self.statement.params.as_slice());
        let texts = self.statement.sql.len() + self.batch.as_ref().map_or(0, |sql| sql.len());
        size_of::<Self>() + 2 * texts + params
    }

    /// Returns whether the statement can be used for this run of the plan that it was built from. A cursor or parameters whose
    /// values compare in other types need another statement, which is rare for values of the same columns.
    pub fn serves(&self, plan: &Plan) -> bool {
        !self.depends_on_values && self.statement.params.iter().all(|param| param.fits(plan))
    }
}
