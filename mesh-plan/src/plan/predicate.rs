//! Conditions on rows and groups.

use std::borrow::Cow;

use mesh_ql::FilterOp;

use super::ColumnSource;
use crate::Value;
use crate::policy::SessionValue;

/// A condition. Comparisons follow SQL: a comparison with NULL is unknown, and so is its negation.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// All of them hold; an empty list is true.
    All(Vec<Self>),
    /// At least one of them holds; an empty list is false.
    Any(Vec<Self>),
    /// The condition does not hold.
    Not(Box<Self>),
    /// A comparison with a value.
    Compare {
        /// The left side.
        source: ColumnSource,
        /// The operator.
        op: CompareOp,
        /// The right side. It is NULL only in place of a value that the session lacks.
        value: Value,
    },
    /// A comparison with a value of the session, from the condition of a policy. It does not hold if the session lacks the
    /// value.
    Session {
        /// The left side.
        source: ColumnSource,
        /// The operator.
        op: CompareOp,
        /// The right side.
        value: SessionValue,
        /// The slot of [`crate::Plan::session_value`].
        slot: usize,
    },
    /// The value is in a list, which is not empty.
    In {
        /// The left side.
        source: ColumnSource,
        /// The list.
        values: Vec<Value>,
        /// Whether the value must not be in the list (`nin`).
        negated: bool,
    },
    /// The value matches a pattern with `%`, `_` and `\` as in `SPEC §3.7`.
    Like {
        /// The left side.
        source: ColumnSource,
        /// The pattern.
        pattern: String,
        /// Whether letter case is ignored (`ilike`).
        ignore_case: bool,
    },
    /// The value is NULL.
    IsNull {
        /// The left side.
        source: ColumnSource,
        /// Whether the value must not be NULL (`isNotNull`).
        negated: bool,
    },
}

impl Predicate {
    /// Calls `visit` with the source of every comparison.
    pub(crate) fn for_each_source(&self, visit: &mut impl FnMut(&ColumnSource)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.for_each_source(visit)),
            Self::Not(part) => part.for_each_source(visit),
            Self::Compare { source, .. }
            | Self::Session { source, .. }
            | Self::In { source, .. }
            | Self::Like { source, .. }
            | Self::IsNull { source, .. } => visit(source),
        }
    }

    /// Returns the predicate with these values of the session filled in. The depth of predicates is bounded by the parser
    /// or by the author of a policy.
    pub(crate) fn bound(&self, values: &[Value]) -> Cow<'_, Self> {
        if values.is_empty() {
            return Cow::Borrowed(self);
        }
        let all = |parts: &[Self]| parts.iter().map(|part| part.bound(values).into_owned()).collect();
        Cow::Owned(match self {
            Self::All(parts) => Self::All(all(parts)),
            Self::Any(parts) => Self::Any(all(parts)),
            Self::Not(part) => Self::Not(Box::new(part.bound(values).into_owned())),
            Self::Session { source, op, slot, .. } => {
                let value = values.get(*slot).cloned().unwrap_or_default();
                Self::Compare { source: source.clone(), op: *op, value }
            }
            Self::Compare { .. } | Self::In { .. } | Self::Like { .. } | Self::IsNull { .. } => {
                return Cow::Borrowed(self);
            }
        })
    }
}

/// A comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names explain each")]
pub enum CompareOp {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
}

impl CompareOp {
    /// Returns the comparison of a filter operator; `None` for operators of other forms.
    pub(crate) fn from_filter(op: FilterOp) -> Option<Self> {
        match op {
            FilterOp::Eq => Some(Self::Eq),
            FilterOp::Ne => Some(Self::Ne),
            FilterOp::Gt => Some(Self::Gt),
            FilterOp::Gte => Some(Self::Gte),
            FilterOp::Lt => Some(Self::Lt),
            FilterOp::Lte => Some(Self::Lte),
            _ => None,
        }
    }
}
