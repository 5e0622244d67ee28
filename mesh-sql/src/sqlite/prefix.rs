//! Ranges of text for patterns that begin with literal characters, so that an index can be used.

use sea_query::{Expr, ExprTrait as _};

use super::param::Param;
use crate::custom::collate;
use crate::statement::Params;
use mesh_plan::Pattern;

/// Returns a condition that all matching texts meet, and that other texts may meet too. `None` if the pattern has no beginning
/// that an index could search for. If there is a slot, the pattern is that of the input in the slot.
///
/// The texts are compared in the binary collation, regardless of the collation of the column, because no other collation keeps
/// texts with the same beginning together. An index with another collation is not used, which does not change the result.
pub(super) fn range(
    params: &mut Params<Param>,
    text: &Expr,
    (pattern, slot): (&str, Option<usize>),
) -> Option<Expr> {
    let (from, to) = pattern_bounds(pattern)?;
    let mut bound = |text: String, is_end| {
        params.add(match slot {
            Some(slot) => Param::PatternBound(slot, is_end),
            None => Param::Value(text.into()),
        })
    };
    let text = || collate(text.clone(), "BINARY");
    Some(text().gte(bound(from, false)).and(text().lt(bound(to, true))))
}

/// Returns a bound of the texts that begin as the pattern does: the upper one if `is_end` is set, else the lower one. `None` if
/// the pattern has no such beginning.
pub(super) fn bound(pattern: &str, is_end: bool) -> Option<String> {
    pattern_bounds(pattern).map(|(from, to)| if is_end { to } else { from })
}

/// Returns the inclusive lower and the exclusive upper bound of the texts that begin as the pattern does.
fn pattern_bounds(pattern: &str) -> Option<(String, String)> {
    let (from, mut to) = Pattern::new(pattern, false).ok()?.prefix_bounds()?;
    // A numeric column would compare a text that reads as a number as a number, and numbers sort before all texts. With this
    // character at its end, the text does not read as a number.
    to.push('\u{1}');
    Some((from, to))
}
