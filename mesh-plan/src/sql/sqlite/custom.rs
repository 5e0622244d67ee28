//! Expressions that sea-query cannot build for SQLite.

use sea_query::{Expr, Func, FunctionCall};

/// Calls an aggregate function over distinct values.
pub(super) fn over_distinct(function: &'static str, value: Expr) -> FunctionCall {
    Func::cust(function).arg(Expr::cust_with_expr("DISTINCT ?", value))
}
