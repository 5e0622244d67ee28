//! Expressions with the class of their type.

use mesh_plan::plan::CompareOp;
use mesh_schema::NativeType;
use sea_query::Expr;

use crate::class::Class;

/// An expression for a value of a row.
#[derive(Clone, Debug)]
pub struct Operand<C> {
    pub(crate) expr: Expr,
    pub(crate) class: C,
    /// Whether it has a collation under which different texts are equal.
    pub(crate) has_nondeterministic_collation: bool,
}

impl<C: Class> Operand<C> {
    pub(crate) fn new(expr: Expr, class: C) -> Self {
        Self { expr, class, has_nondeterministic_collation: false }
    }

    /// Returns the operand for a value of a column's type.
    pub(crate) fn of(expr: Expr, native: Option<&NativeType>) -> Self {
        let has_nondeterministic_collation =
            native.is_some_and(|native| native.has_nondeterministic_collation);
        Self { expr, class: C::of(native), has_nondeterministic_collation }
    }

    /// Returns an operand of the same type with another expression.
    pub(crate) fn with_expr(self, expr: Expr) -> Self {
        Self { expr, ..self }
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

    /// Returns the value in a form that can be compared and ordered.
    pub(crate) fn comparable(self) -> Self {
        let (expr, class) = self.class.comparable(self.expr);
        Self { expr, class, ..self }
    }

    /// Returns the value as it is stored, if different stored values compare as equal.
    pub(crate) fn as_stored(&self) -> Option<Self> {
        Some(Self { expr: self.expr.clone(), class: self.class.as_stored()?, ..*self })
    }

    /// Returns the value in a form that is NULL if responses show it as `null`.
    pub(crate) fn complete(self) -> Self {
        let expr = self.class.complete(self.expr);
        Self { expr, ..self }
    }
}
