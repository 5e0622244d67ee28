//! Single conditions.

use sea_query::{Expr, ExprTrait as _, Func};

use super::param::Param;
use super::{functions, prefix};
use crate::Value;
use crate::plan::{ColumnSource, CompareOp, Predicate};
use crate::sql::predicate::Columns;
use crate::sql::predicate::{self, Conditions};
use crate::sql::statement::Params;
use crate::value::like;

/// Lowers a predicate on the rows with these columns.
pub(super) fn lower(params: &mut Params<Param>, columns: &Columns<'_>, predicate: &Predicate) -> Expr {
    predicate::lower(&mut Lowering { params, columns }, predicate)
}

struct Lowering<'a> {
    params: &'a mut Params<Param>,
    columns: &'a Columns<'a>,
}

impl Conditions for Lowering<'_> {
    fn column(&self, source: &ColumnSource) -> Expr {
        (self.columns)(source)
    }

    fn compare(&mut self, source: &ColumnSource, op: CompareOp, value: &Value) -> Expr {
        let value = self.params.add(Param::Value(value.clone()));
        predicate::compare(self.column(source), op, value)
    }

    fn compare_session(&mut self, source: &ColumnSource, op: CompareOp, slot: usize) -> Expr {
        let value = self.params.add(Param::Session(slot));
        predicate::compare(self.column(source), op, value)
    }

    fn is_in(&mut self, source: &ColumnSource, values: &[Value], negated: bool) -> Expr {
        let values: Vec<_> =
            values.iter().map(|value| self.params.add(Param::Value(value.clone()))).collect();
        let column = self.column(source);
        if negated { column.is_not_in(values) } else { column.is_in(values) }
    }

    fn like(&mut self, source: &ColumnSource, pattern: &str, ignore_case: bool) -> Expr {
        let column = self.column(source);
        let range = if ignore_case { None } else { prefix::range(self.params, &column, pattern) };
        let function = if ignore_case { functions::ILIKE } else { functions::LIKE };
        let pattern = self.params.add(Param::Value(like::escape_end(pattern).into()));
        let matches = Func::cust(function).arg(column).arg(pattern).into();
        match range {
            Some(range) => range.and(matches),
            None => matches,
        }
    }
}
