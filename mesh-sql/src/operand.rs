//! Expressions with the class of their type.

use mesh_plan::CompareOp;
use sea_query::Expr;

use crate::class::Class;

/// An expression for a value of a row.
#[derive(Clone, Debug)]
pub(crate) struct Operand<C> {
    pub(crate) expr: Expr,
    pub(crate) class: C,
    /// Whether it has a collation under which different texts are equal.
    pub(crate) has_nondeterministic_collation: bool,
}

impl<C: Class> Operand<C> {
    pub(crate) fn new(expr: Expr, class: C) -> Self {
        Self { expr, class, has_nondeterministic_collation: false }
    }

    /// Returns the value as text.
    pub(crate) fn to_text(&self) -> Self {
        let (expr, class) = self.class.to_text(self.expr.clone());
        Self { expr, class, ..*self }
    }

    /// Compares with a value of the same type.
    pub(crate) fn compare(&self, op: CompareOp, right: Expr) -> Expr {
        self.class.compare(self.expr.clone(), op, right)
    }

    /// Returns the value in the form that is compared with values known only at run time.
    pub(crate) fn to_bindable(&self) -> Self {
        if self.class.is_bindable() { self.clone() } else { self.to_text() }
    }

    /// Returns the value in a form that can be compared and ordered: unchanged for most types, else as text.
    pub(crate) fn comparable(self) -> Self {
        if self.class.has_order() { self } else { self.to_text() }
    }
}

impl<C> From<Operand<C>> for Expr {
    fn from(operand: Operand<C>) -> Self {
        operand.expr
    }
}
