//! Casts, operators and calls that sea-query has no methods for.

use sea_query::extension::postgres::PgBinOper;
use sea_query::{BinOper, Expr, ExprTrait as _, Func, FunctionCall};

/// Casts to a type, by its name in SQL.
pub(super) fn cast(expr: Expr, ty: &str) -> Expr {
    expr.cast_as(ty.to_owned())
}

/// Matches text against a pattern, ignoring letter case.
pub(super) fn ilike(text: Expr, pattern: Expr) -> Expr {
    text.binary(PgBinOper::ILike, pattern)
}

/// Matches text against a pattern.
pub(super) fn like(text: Expr, pattern: Expr) -> Expr {
    text.binary(BinOper::Like, pattern)
}

/// Calls an aggregate function, over distinct values if so asked.
pub(super) fn aggregate(function: &'static str, value: Expr, distinct: bool) -> FunctionCall {
    Func::cust(function).arg(if distinct { Expr::cust_with_expr("DISTINCT $1", value) } else { value })
}
