//! How is a predicate said?

use sea_query::{Expr, ExprTrait, Func};

use super::{bound, functions, group, prefix, slot};
use crate::like;
use crate::plan::{ColumnSource, CompareOp, Grouping, Predicate};

/// How values are called where an expression stands.
pub(super) enum Names<'a> {
    /// Columns of the node's table, by its alias.
    Table(&'a str),
    /// Columns of its groups.
    Groups(&'a Grouping),
}

impl Names<'_> {
    /// The value of that source.
    pub(super) fn expr(&self, source: &ColumnSource) -> Expr {
        match (self, source) {
            (Self::Groups(grouping), source) => group::expr(grouping, source),
            (Self::Table(alias), ColumnSource::Column(column)) => {
                Expr::col(((*alias).to_owned(), column.clone()))
            }
            // The planner lets aggregates stand in grouped reads only.
            (Self::Table(_), ColumnSource::Aggregate(_)) => Expr::null(),
        }
    }
}

/// A predicate as SQLite serves it best.
pub(super) fn lower(names: &Names<'_>, predicate: &Predicate) -> Expr {
    say(names, predicate, |text, pattern, ignore_case| {
        let range = if ignore_case { None } else { prefix::range(&text, pattern) };
        let matches = matches(text, pattern, ignore_case);
        match range {
            Some(range) => range.and(matches),
            None => matches,
        }
    })
}

/// The same in words that other databases can be told too.
pub(super) fn portable(names: &Names<'_>, predicate: &Predicate) -> Expr {
    say(names, predicate, matches)
}

/// How it is said that a text matches a pattern, letter case aside or not.
type Like = fn(Expr, &str, bool) -> Expr;

fn matches(text: Expr, pattern: &str, ignore_case: bool) -> Expr {
    let function = if ignore_case { functions::ILIKE } else { functions::LIKE };
    Func::cust(function).arg(text).arg(Expr::val(like::closed(pattern))).into()
}

/// Filters are nested as deep as the parser lets them.
fn say(names: &Names<'_>, predicate: &Predicate, like: Like) -> Expr {
    let list = |parts: &[Predicate], join: fn(Expr, Expr) -> Expr, empty: bool| {
        let parts = parts.iter().map(|part| say(names, part, like));
        parts.reduce(join).unwrap_or_else(|| Expr::val(empty))
    };
    match predicate {
        Predicate::All(parts) => list(parts, Expr::and, true),
        Predicate::Any(parts) => list(parts, Expr::or, false),
        Predicate::Not(part) => say(names, part, like).not(),
        Predicate::Compare { source, op, value } => compare(names.expr(source), *op, Expr::val(bound(value))),
        Predicate::Session { source, op, slot, .. } => {
            compare(names.expr(source), *op, Expr::val(slot::session(*slot)))
        }
        Predicate::In { source, values, negated } => {
            let (left, values) = (names.expr(source), values.iter().map(bound));
            if *negated { left.is_not_in(values) } else { left.is_in(values) }
        }
        Predicate::Like { source, pattern, ignore_case } => like(names.expr(source), pattern, *ignore_case),
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
