//! What sea-query has no methods for.

use sea_query::{Asterisk, BinOper, Expr, ExprTrait as _, Func};

use super::statement::Statement;

/// Casts to a type, by its name in SQL.
pub(super) fn cast(expr: Expr, ty: &str) -> Expr {
    expr.cast_as(ty.to_owned())
}

/// Applies a collation.
pub(super) fn collate(text: Expr, collation: &'static str) -> Expr {
    text.binary(BinOper::Custom("COLLATE"), Expr::col(collation))
}

/// Calls an aggregate function. `distinct` is the template of its argument over distinct values, with the placeholder of
/// the database.
pub(super) fn aggregate(function: &'static str, value: Expr, distinct: Option<&'static str>) -> Expr {
    let value = match distinct {
        Some(template) => Expr::cust_with_expr(template, value),
        None => value,
    };
    Func::cust(function).arg(value).into()
}

/// Counts rows.
pub(super) fn count_rows() -> Expr {
    Func::count(Expr::col(Asterisk)).into()
}

/// Returns a statement that describes how another one would run. sea-query has a builder for it, but not for statements
/// with common table expressions.
pub(super) fn explain<P>(command: &str, statement: &Statement<P>) -> String {
    [command, " ", &statement.sql].concat()
}
