//! Conditions on related records that must hold, and whether few records meet them.

use mesh_plan::plan::{CompareOp, Predicate};
use mesh_plan::{Node, Value};

/// Returns the related records of conditions that must hold, for which false and unknown have the same result.
pub(super) fn required(filter: Option<&Predicate>) -> Vec<usize> {
    let mut left: Vec<&Predicate> = filter.into_iter().collect();
    let mut found = Vec::new();
    while let Some(part) = left.pop() {
        match part {
            Predicate::All(parts) | Predicate::Any(parts) => left.extend(parts),
            Predicate::Exists { related, negated: false } => found.push(*related),
            _ => {}
        }
    }
    found
}

/// Returns whether a condition on related records suggests that few of them match: one that compares for equality, except with
/// a Boolean, has to hold. The statement depends on nothing but the query, so this is a guess without knowledge of the data.
pub(super) fn is_selective(node: &Node, filter: &Predicate) -> bool {
    match filter {
        Predicate::All(parts) => parts.iter().any(|part| is_selective(node, part)),
        Predicate::Any(parts) => !parts.is_empty() && parts.iter().all(|part| is_selective(node, part)),
        Predicate::Compare { op: CompareOp::Eq, value, .. } => !matches!(value.parts().0, Value::Boolean(_)),
        Predicate::In { negated, .. } | Predicate::SessionIn { negated, .. } => !negated,
        Predicate::Session { op, .. } => *op == CompareOp::Eq,
        Predicate::Param { condition, .. } => is_selective(node, condition),
        Predicate::Search(_) => true,
        Predicate::Exists { related, negated: false } => node.related.get(*related).is_some_and(|related| {
            related.node.filter.as_ref().is_some_and(|filter| is_selective(&related.node, filter))
        }),
        _ => false,
    }
}
