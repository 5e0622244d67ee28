//! A statement with the layout of its rows.

use super::param::Param;
use crate::statement::Statement;
use mesh_plan::Plan;

/// The statement of a plan, with the layout that is needed to read its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadStatement {
    /// The statement. All parameters are bound as text, which the database reads as the types that the statement
    /// names.
    pub statement: Statement<Param>,
    /// The number of levels. If there is more than one, each row begins with three numbers: the number of its level, of its
    /// parent's row and of the row. Rows are numbered from 1 within their level.
    pub levels: usize,
    /// The layout of the root node and its joins.
    pub layout: Layout,
    /// Whether the form of the statement depends on a value of a cursor or a parameter, not only on its type.
    pub(super) depends_on_values: bool,
}

/// The positions of the columns of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// The level whose rows contain the columns.
    pub level: usize,
    /// The index in a row of each of the node's columns; `None` for columns that only the statement needs.
    pub columns: Vec<Option<usize>>,
    /// For a to-one relation in the level of its parent, the index of a cell that is NULL if there is no record.
    pub presence: Option<usize>,
    /// The layouts of its joins, in the plan's order.
    pub joins: Vec<Self>,
    /// For a root whose rows are counted, the level and the index of the cell with the number of rows.
    pub total: Option<(usize, usize)>,
}

impl ReadStatement {
    /// Returns the estimated size of the statement in bytes. The text is its largest part.
    pub fn bytes(&self) -> usize {
        let params = size_of_val(self.statement.params.as_slice());
        size_of::<Self>() + 2 * self.statement.sql.len() + params
    }

    /// Returns whether the statement can be used for this run of the plan that it was built from. A cursor or parameters whose
    /// values compare in other types need another statement, which is rare for values of the same columns.
    pub fn serves(&self, plan: &Plan) -> bool {
        !self.depends_on_values && self.statement.params.iter().all(|param| param.fits(plan))
    }
}
