//! Expressions with the class of their type.

use sea_query::Expr;

use super::type_class::TypeClass;
use crate::sql::custom::cast;

/// An expression for a value of a row.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) expr: Expr,
    pub(super) class: TypeClass,
}

impl Operand {
    /// Returns the value as text.
    pub(super) fn to_text(&self) -> Self {
        Self { expr: cast(self.expr.clone(), "text"), class: TypeClass::Text("text") }
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

impl From<Operand> for Expr {
    fn from(operand: Operand) -> Self {
        operand.expr
    }
}
