//! How is a predicate said?

use sea_query::{Expr, ExprTrait, Func};

use super::{bound, functions, group, slot};
use crate::plan::{CompareOp, Grouping, Predicate, Source};

/// How values are called where an expression stands.
pub(super) enum Names<'a> {
    /// Columns of the node's table, by its alias.
    Table(&'a str),
    /// Columns of its groups.
    Groups(&'a Grouping),
}

impl Names<'_> {
    /// The value of that source.
    pub(super) fn expr(&self, source: &Source) -> Expr {
        match (self, source) {
            (Self::Groups(grouping), source) => group::expr(grouping, source),
            (Self::Table(alias), Source::Column(column)) => Expr::col(((*alias).to_owned(), column.clone())),
            // The planner lets aggregates stand in grouped reads only.
            (Self::Table(_), Source::Aggregate(_)) => Expr::null(),
        }
    }
}

/// Filters are nested as deep as the parser lets them.
pub(super) fn lower(names: &Names<'_>, predicate: &Predicate) -> Expr {
    let list = |parts: &[Predicate], join: fn(Expr, Expr) -> Expr, empty: bool| {
        let parts = parts.iter().map(|part| lower(names, part));
        parts.reduce(join).unwrap_or_else(|| Expr::val(empty))
    };
    match predicate {
        Predicate::All(parts) => list(parts, Expr::and, true),
        Predicate::Any(parts) => list(parts, Expr::or, false),
        Predicate::Not(part) => lower(names, part).not(),
        Predicate::Compare { source, op, value } => compare(names.expr(source), *op, Expr::val(bound(value))),
        Predicate::Session { source, op, slot, .. } => {
            compare(names.expr(source), *op, Expr::val(slot::session(*slot)))
        }
        Predicate::In { source, values, negated } => {
            let (left, values) = (names.expr(source), values.iter().map(bound));
            if *negated { left.is_not_in(values) } else { left.is_in(values) }
        }
        Predicate::Like { source, pattern, ignore_case } => {
            let function = if *ignore_case { functions::ILIKE } else { functions::LIKE };
            Func::cust(function).arg(names.expr(source)).arg(Expr::val(pattern.clone())).into()
        }
        Predicate::IsNull { source, negated: false } => names.expr(source).is_null(),
        Predicate::IsNull { source, negated: true } => names.expr(source).is_not_null(),
    }
}

fn compare(left: Expr, op: CompareOp, right: Expr) -> Expr {
    match op {
        CompareOp::Eq => left.eq(right),
        CompareOp::Ne => left.ne(right),
        CompareOp::Gt => left.gt(right),
        CompareOp::Gte => left.gte(right),
        CompareOp::Lt => left.lt(right),
        CompareOp::Lte => left.lte(right),
    }
}
