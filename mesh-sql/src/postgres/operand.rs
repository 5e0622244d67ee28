//! Expressions with the class of their type.

use sea_query::Expr;

use super::type_class::TypeClass;
use crate::custom::{cast, operator};
use mesh_plan::CompareOp;

/// An expression for a value of a row.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) expr: Expr,
    pub(super) class: TypeClass,
    /// Whether it has a collation under which different texts are equal.
    pub(super) has_nondeterministic_collation: bool,
}

impl Operand {
    pub(super) fn new(expr: Expr, class: TypeClass) -> Self {
        Self { expr, class, has_nondeterministic_collation: false }
    }

    /// Returns the value as text.
    pub(super) fn to_text(&self) -> Self {
        Self { expr: cast(self.expr.clone(), "text"), class: TypeClass::Text("text"), ..*self }
    }

    /// Compares with a value of the same type.
    pub(super) fn compare(&self, op: CompareOp, right: Expr) -> Expr {
        operator(self.expr.clone(), op, self.class.schema(), right)
    }

    /// Returns the value in the form that is compared with values known only at run time.
    pub(super) fn to_bindable(&self) -> Self {
        if self.class.is_bindable() { self.clone() } else { self.to_text() }
    }

    /// Returns the value in a form that can be compared and ordered: unchanged for most types, else as text.
    pub(super) fn comparable(self) -> Self {
        if self.class.has_order() { self } else { self.to_text() }
    }
}

impl From<Operand> for Expr {
    fn from(operand: Operand) -> Self {
        operand.expr
    }
}
