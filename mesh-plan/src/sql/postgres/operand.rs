//! Expressions with the class of their type.

use sea_query::Expr;

use super::class::Class;
use super::custom::cast;
use crate::plan::{ColumnSource, Node};

/// An expression for a value of a row.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) expr: Expr,
    pub(super) class: Class,
}

/// Returns the operand for a value of a node's rows.
pub(super) type Operands<'a> = dyn Fn(&ColumnSource) -> Operand + 'a;

impl Operand {
    /// Returns the value as text.
    pub(super) fn to_text(&self) -> Self {
        Self { expr: cast(self.expr.clone(), "text"), class: Class::Text("text") }
    }

    /// Returns the value in the form in which it is compared with a value that is known only at run time.
    pub(super) fn holder(&self) -> Self {
        if self.class.holds() { self.clone() } else { self.to_text() }
    }

    /// Returns the value in a form that can be compared and ordered, which most types can by themselves.
    pub(super) fn comparable(self) -> Self {
        if self.class.has_order() { self } else { self.to_text() }
    }
}

/// Returns a column of the node's table, which has that alias.
pub(super) fn table_operand(node: &Node, alias: &str, source: &ColumnSource) -> Operand {
    let expr = match source {
        ColumnSource::Column(column) => Expr::col((alias.to_owned(), column.clone())),
        ColumnSource::Aggregate(_) => Expr::null(),
    };
    Operand { expr, class: class_of(node, source) }
}

/// Returns the class of a column of the node's table.
pub(super) fn class_of(node: &Node, source: &ColumnSource) -> Class {
    match source {
        ColumnSource::Column(column) => Class::new(node.native.get(column)),
        // The planner allows aggregates in grouped reads only.
        ColumnSource::Aggregate(_) => Class::Unknown,
    }
}
