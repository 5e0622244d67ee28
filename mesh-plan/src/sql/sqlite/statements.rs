//! The statements of a plan.

use super::param::Param;
use super::select;
use crate::plan::{Join, Node, Plan, Target};
use crate::sql::statement::Statement;

/// The statements of a plan, as a tree of the same form as its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Statements {
    /// The statement of this node.
    pub statement: Statement<Param>,
    /// The statements of its joins, in the plan's order.
    pub joins: Vec<Self>,
}

impl Statements {
    /// Lowers a plan.
    pub fn from_plan(plan: &Plan) -> Self {
        let point = matches!(plan.target(), Target::Point(_));
        Self::from_node(plan.node(), None, point, &mut 0)
    }

    /// Lowers a node and its joins, whose nesting is bounded as that of queries.
    fn from_node(node: &Node, parent: Option<(&Node, &Join)>, point: bool, count: &mut usize) -> Self {
        let number = *count;
        *count += 1;
        Self {
            statement: select::lower(node, parent, point, number),
            joins: (node.joins.iter())
                .map(|join| Self::from_node(&join.node, Some((node, join)), false, count))
                .collect(),
        }
    }
}
