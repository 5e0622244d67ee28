//! The structure of predicates. Each database lowers the single conditions.

use sea_query::{BinOper, Expr, ExprTrait as _};

use crate::Value;
use crate::plan::{ColumnSource, CompareOp, Predicate};

/// Returns the expression for a value of a node's rows.
pub(super) type Columns<'a> = dyn Fn(&ColumnSource) -> Expr + 'a;

/// Lowers single conditions.
pub(super) trait Conditions {
    /// Returns the expression for a value of a row.
    fn column(&self, source: &ColumnSource) -> Expr;

    /// Compares with a value of the query.
    fn compare(&mut self, source: &ColumnSource, op: CompareOp, value: &Value) -> Expr;

    /// Compares with the session's value of that slot.
    fn compare_session(&mut self, source: &ColumnSource, op: CompareOp, slot: usize) -> Expr;

    /// Looks for the column's value in a list that is not empty.
    fn is_in(&mut self, source: &ColumnSource, values: &[Value], negated: bool) -> Expr;

    /// Matches text against a [`crate::Pattern`].
    fn like(&mut self, source: &ColumnSource, pattern: &str, ignore_case: bool) -> Expr;
}

/// Lowers a predicate. Its nesting is bounded by the parser.
pub(super) fn lower(conditions: &mut impl Conditions, predicate: &Predicate) -> Expr {
    match predicate {
        Predicate::All(parts) => combine(conditions, parts, Expr::and, true),
        Predicate::Any(parts) => combine(conditions, parts, Expr::or, false),
        Predicate::Not(part) => lower(conditions, part).not(),
        Predicate::Compare { source, op, value } => conditions.compare(source, *op, value),
        Predicate::Session { source, op, slot, .. } => conditions.compare_session(source, *op, *slot),
        Predicate::In { source, values, negated } => conditions.is_in(source, values, *negated),
        Predicate::Like { source, pattern, ignore_case } => conditions.like(source, pattern, *ignore_case),
        Predicate::IsNull { source, negated: false } => conditions.column(source).is_null(),
        Predicate::IsNull { source, negated: true } => conditions.column(source).is_not_null(),
    }
}

fn combine(
    conditions: &mut impl Conditions,
    parts: &[Predicate],
    join: fn(Expr, Expr) -> Expr,
    empty: bool,
) -> Expr {
    let parts = parts.iter().map(|part| lower(conditions, part));
    parts.reduce(join).unwrap_or_else(|| Expr::Constant(empty.into()))
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

/// Applies a collation.
pub(super) fn collate(text: Expr, collation: &'static str) -> Expr {
    text.binary(BinOper::Custom("COLLATE"), Expr::col(collation))
}
