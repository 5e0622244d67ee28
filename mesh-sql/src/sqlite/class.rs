//! Columns that hold values in several forms, which are compared in one form.

use std::borrow::Cow;

use mesh_plan::Value;
use mesh_plan::plan::CompareOp;
use mesh_schema::NativeType;
use sea_query::{Expr, Func};

use super::{functions, list};
use crate::class::{Class, ParamType};
use crate::predicate::compare;

/// The type in which the values of a column are compared, if it holds them in several forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixed(Option<String>);

impl Mixed {
    /// All values have one form.
    pub(super) const ONE_FORM: Self = Self(None);

    /// Returns a value in the form of the comparison.
    pub(super) fn one_form(&self, value: Expr) -> Expr {
        match &self.0 {
            Some(ty) => Func::cust(functions::VALUE).arg(value).arg(Expr::Constant(ty.clone().into())).into(),
            None => value,
        }
    }
}

impl Class for Mixed {
    fn of(native: Option<&NativeType>) -> Self {
        Self(native.map(|native| native.name.clone()))
    }

    fn of_key(native: Option<&NativeType>) -> Self {
        // The text of an id does not tell a number from its text.
        let name = |name: &str| if name == NativeType::ANY { "string" } else { name }.to_owned();
        Self(native.map(|native| name(&native.name)))
    }

    fn of_relevance() -> Self {
        Self::ONE_FORM
    }

    fn read<'v>(&self, value: &'v Value) -> Option<(Cow<'v, Value>, ParamType)> {
        Some((Cow::Borrowed(value), ParamType::Inferred))
    }

    fn list<'v>(values: impl Iterator<Item = Cow<'v, Value>>) -> Value {
        list::array(values)
    }

    fn shown(&self, expr: Expr) -> (Expr, &'static str) {
        (expr, "")
    }

    fn to_text(&self, expr: Expr) -> (Expr, Self) {
        (expr, Self::ONE_FORM)
    }

    fn comparable(self, expr: Expr) -> (Expr, Self) {
        (self.one_form(expr), self)
    }

    fn as_stored(&self) -> Option<Self> {
        (*self != Self::ONE_FORM).then_some(Self::ONE_FORM)
    }

    fn or_null(&self, expr: Expr) -> Expr {
        self.one_form(expr)
    }

    fn compare(&self, left: Expr, op: CompareOp, right: Expr) -> Expr {
        compare(self.one_form(left), op, self.one_form(right))
    }
}
