//! Expressions with the class of their type.

use sea_query::Expr;

use super::type_class::TypeClass;
use crate::custom::complete_date;
use crate::predicate::compare;
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

    /// Returns the value as text, in the collation of the connection.
    pub(super) fn to_text(&self) -> Self {
        Self::new(self.class.text(self.expr.clone()), TypeClass::Text(None))
    }

    /// Compares with a value of the same type.
    pub(super) fn compare(&self, op: CompareOp, right: Expr) -> Expr {
        compare(self.expr.clone(), op, right)
    }

    /// Returns the value in the form that is compared with values known only at run time.
    pub(super) fn to_bindable(&self) -> Self {
        if self.class.is_bindable() { self.clone() } else { self.to_text() }
    }

    /// Returns the value as responses show it: a date without a month or a day is NULL.
    pub(super) fn complete(self) -> Self {
        if self.class.is_date() { Self { expr: complete_date(self.expr), ..self } } else { self }
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
