//! Expressions for values of rows. Columns that hold values in several forms are compared in one form.

use mesh_schema::NativeType;
use sea_query::{Expr, ExprTrait as _, Func, Query};

use super::functions;
use crate::predicate::compare;
use mesh_plan::CompareOp;

/// An expression for a value of a row.
#[derive(Clone)]
pub(super) struct Operand {
    pub(super) expr: Expr,
    /// The type in which its values are compared, if it has several forms.
    pub(super) mixed: Option<String>,
}

impl Operand {
    /// Returns the operand for a column; `native` is the type of a column that holds values in several forms.
    pub(super) fn new(expr: Expr, native: Option<&NativeType>) -> Self {
        Self { expr, mixed: native.map(|native| native.name.clone()) }
    }

    /// Returns the operand for a column that is compared as a key. The text of an id does not tell a number from its text.
    pub(super) fn key(expr: Expr, native: Option<&NativeType>) -> Self {
        let name = |native: &NativeType| match native.name.as_str() {
            NativeType::ANY => "string".to_owned(),
            name => name.to_owned(),
        };
        Self { expr, mixed: native.map(name) }
    }

    /// Returns a value, with which this one is compared, in the form of the comparison.
    pub(super) fn form(&self, value: Expr) -> Expr {
        match &self.mixed {
            Some(ty) => Func::cust(functions::VALUE).arg(value).arg(Expr::Constant(ty.clone().into())).into(),
            None => value,
        }
    }

    /// Returns the value in the form in which it is compared and ordered.
    pub(super) fn comparable(&self) -> Expr {
        self.form(self.expr.clone())
    }

    /// Compares with another value.
    pub(super) fn compare(&self, op: CompareOp, right: Expr) -> Expr {
        compare(self.comparable(), op, self.form(right))
    }

    /// Tests whether the value is in a list of [`super::Param::List`] or [`super::Param::SessionList`].
    pub(super) fn is_in_list(&self, list: Expr, negated: bool) -> Expr {
        let mut values = Query::select();
        let value = self.form(Func::cust(functions::ELEMENT).arg(Expr::col("value")).into());
        values.expr(value).from_function(Func::cust("json_each").arg(list), "l");
        let left = self.comparable();
        if negated { left.not_in_subquery(values) } else { left.in_subquery(values) }
    }
}

impl From<Operand> for Expr {
    fn from(operand: Operand) -> Self {
        operand.expr
    }
}
