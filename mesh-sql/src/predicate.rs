//! Lowering of predicates.

use sea_query::{BinOper, Expr, ExprTrait as _};

use super::dialect::{Dialect, Elements, Operands, ParamsOf};
use super::param;
use crate::custom::is_not_true;
use mesh_plan::plan::{ColumnSource, CompareOp, Predicate};

/// Lowers a predicate on rows with these operands. The parser bounds its nesting.
pub(super) fn lower<D: Dialect>(
    dialect: &D,
    params: &mut ParamsOf<'_, D>,
    operands: &Operands<'_, D>,
    predicate: &Predicate,
) -> Expr {
    lower_part(dialect, params, operands, predicate, false)
}

/// Lowers a predicate or a part of one. `needs_unknown` is whether it has to be NULL if it is unknown, because a negation
/// encloses it; otherwise it may be false.
fn lower_part<D: Dialect>(
    dialect: &D,
    params: &mut ParamsOf<'_, D>,
    operands: &Operands<'_, D>,
    predicate: &Predicate,
    needs_unknown: bool,
) -> Expr {
    let operand = |params: &mut ParamsOf<'_, D>, source: &ColumnSource| match source {
        ColumnSource::Json { of, at, ty } => dialect.json(params, operands(of), at, *ty),
        source => operands(source),
    };
    let mut combine = |parts: &[Predicate], join: fn(Expr, Expr) -> Expr, empty: bool| {
        let parts = parts.iter().map(|part| lower_part(dialect, params, operands, part, needs_unknown));
        parts.reduce(join).unwrap_or_else(|| Expr::Constant(empty.into()))
    };
    match predicate {
        Predicate::All(parts) => combine(parts, Expr::and, true),
        Predicate::Any(parts) => combine(parts, Expr::or, false),
        Predicate::Not(part) => lower_part(dialect, params, operands, part, true).not(),
        Predicate::NotTrue(part) => is_not_true(lower(dialect, params, operands, part)),
        Predicate::Exists { related, negated } => {
            let exists = operands(&ColumnSource::Exists(*related)).expr;
            if *negated { exists.not() } else { exists }
        }
        Predicate::Param { condition, .. } => lower_part(dialect, params, operands, condition, needs_unknown),
        Predicate::Compare { source, op, value } => {
            let left = operand(params, source);
            dialect.compare(params, &left, *op, params.current(value.parts()))
        }
        Predicate::Session { source, op, slot, .. } => {
            let left = operand(params, source);
            let right = param::session(params, *slot, &left.class);
            left.to_bindable().compare(*op, right)
        }
        Predicate::SessionIn { source, slot, negated, .. } => {
            let left = operand(params, source);
            let list = param::session_list(params, *slot, &left.class);
            dialect.is_in_session(left, list, *negated)
        }
        Predicate::In { source, values, negated } => {
            let left = operand(params, source);
            let values: Vec<_> = values.iter().map(|value| params.current(value.parts())).collect();
            dialect.is_in(params, left, &values, *negated)
        }
        Predicate::Like { source, pattern, ignore_case } => {
            let left = operand(params, source);
            let (pattern, slot) = pattern.parts();
            dialect.like(params, left, (params.current_text(pattern, slot), slot), *ignore_case)
        }
        Predicate::Has { of, at, ty, values, all } => {
            let values = values.iter().map(|value| params.current(value.parts())).collect();
            let elements = Elements { at, ty: *ty, values, all: *all, needs_unknown };
            dialect.json_has(params, operands(of), &elements)
        }
        Predicate::IsNull { source, negated } => {
            let left = operand(params, source).complete().expr;
            if *negated { left.is_not_null() } else { left.is_null() }
        }
        Predicate::Search(search) => dialect.search(params, operands, search),
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
