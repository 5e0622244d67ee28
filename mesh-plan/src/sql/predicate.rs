//! Lowering of predicates.

use sea_query::{BinOper, Expr, ExprTrait as _};

use super::dialect::{Dialect, Operands};
use super::statement::Params;
use crate::plan::{ColumnSource, CompareOp, Predicate};
use crate::sql::custom::is_not_true;

/// Lowers a predicate on rows with these operands. Its nesting is bounded by the parser.
pub(super) fn lower<D: Dialect>(
    dialect: &D,
    params: &mut Params<D::Param>,
    operands: &Operands<'_, D>,
    predicate: &Predicate,
) -> Expr {
    let mut combine = |parts: &[Predicate], join: fn(Expr, Expr) -> Expr, empty: bool| {
        let parts = parts.iter().map(|part| lower(dialect, params, operands, part));
        parts.reduce(join).unwrap_or_else(|| Expr::Constant(empty.into()))
    };
    match predicate {
        Predicate::All(parts) => combine(parts, Expr::and, true),
        Predicate::Any(parts) => combine(parts, Expr::or, false),
        Predicate::Not(part) => lower(dialect, params, operands, part).not(),
        Predicate::NotTrue(part) => is_not_true(lower(dialect, params, operands, part)),
        Predicate::Exists { related, negated } => {
            let exists: Expr = operands(&ColumnSource::Exists(*related)).into();
            if *negated { exists.not() } else { exists }
        }
        Predicate::Compare { source, op, value } => dialect.compare(params, operands(source), *op, value),
        Predicate::Session { source, op, slot, .. } => {
            dialect.compare_session(params, operands(source), *op, *slot)
        }
        Predicate::In { source, values, negated } => {
            dialect.is_in(params, operands(source), values, *negated)
        }
        Predicate::Like { source, pattern, ignore_case } => {
            dialect.like(params, operands(source), pattern, *ignore_case)
        }
        Predicate::IsNull { source, negated: false } => operands(source).into().is_null(),
        Predicate::IsNull { source, negated: true } => operands(source).into().is_not_null(),
    }
}

/// Compares two expressions.
pub(super) fn compare(left: Expr, op: CompareOp, right: Expr) -> Expr {
    let op = match op {
        CompareOp::Eq => BinOper::Equal,
        CompareOp::Ne => BinOper::NotEqual,
        CompareOp::Gt => BinOper::GreaterThan,
        CompareOp::Gte => BinOper::GreaterThanOrEqual,
        CompareOp::Lt => BinOper::SmallerThan,
        CompareOp::Lte => BinOper::SmallerThanOrEqual,
    };
    left.binary(op, right)
}
