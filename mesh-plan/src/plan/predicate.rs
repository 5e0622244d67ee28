//! Conditions on rows and groups.

use std::borrow::Cow;

use mesh_ql::FilterOp;

use super::{ColumnSource, Search};
use crate::Value;
use crate::policy::{SessionInput, SessionValue};
use crate::value::json::{JsonPointer, JsonType};

/// A condition. Comparisons follow SQL: a comparison with NULL is unknown, and so is its negation. `source` is the left side
/// of a comparison.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the documentation of the variants explains their fields")]
pub enum Predicate {
    /// All of them hold; an empty list is true.
    All(Vec<Self>),
    /// At least one of them holds; an empty list is false.
    Any(Vec<Self>),
    /// The condition does not hold.
    Not(Box<Self>),
    /// The condition is false or unknown.
    NotTrue(Box<Self>),
    /// There are related records ([`super::Node::related`]); `negated`: there are none.
    Exists { related: usize, negated: bool },
    /// A condition with parameters, whose form depends on their values. `text` describes it without the values.
    Param { text: String, condition: Box<Self> },
    /// A comparison with a value. The value is NULL only if it replaces a session value that the session lacks.
    Compare { source: ColumnSource, op: CompareOp, value: Comparand<Value> },
    /// A comparison with a value of the session, from the condition of a policy. `slot` is the argument of
    /// [`crate::Plan::session_value`]. The condition does not hold if the session lacks the value.
    Session { source: ColumnSource, op: CompareOp, value: SessionValue, slot: usize },
    /// The value is in a list of the session, from the condition of a policy; `negated`: it is not in the list. `slot` is the
    /// argument of [`crate::Plan::session_values`]. The condition does not hold if the session lacks the list.
    SessionIn { source: ColumnSource, value: SessionValue, slot: usize, negated: bool },
    /// The value is in a list, which is not empty; `negated`: it is not in the list (`nin`).
    In { source: ColumnSource, values: Vec<Comparand<Value>>, negated: bool },
    /// The value matches a pattern with `%`, `_` and `\` as in `SPEC §3.7`; `ignore_case`: in any letter case (`ilike`).
    Like { source: ColumnSource, pattern: Comparand<String>, ignore_case: bool },
    /// The array at a location in a JSON document contains all of the values, or any of them. The values have the type `ty`,
    /// and there is at least one. Unknown if there is no array ([`JsonPointer::has`]).
    Has { of: ColumnSource, at: JsonPointer, ty: JsonType, values: Vec<Comparand<Value>>, all: bool },
    /// The value is NULL; `negated`: it is not NULL (`isNotNull`).
    IsNull { source: ColumnSource, negated: bool },
    /// The record contains the words of a text.
    Search(Box<Search>),
}

/// The right side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Comparand<T> {
    /// This value.
    Value(T),
    /// The value of a parameter, which can differ in each run of the plan: see [`crate::Plan::bind`].
    Input {
        /// The index into [`crate::Plan::inputs`].
        slot: usize,
        /// The value of the run for which the plan was made. The values of other runs have the same form.
        sample: T,
    },
}

impl<T> Comparand<T> {
    /// Returns the value and, for a parameter, its slot. The value of a parameter is the sample.
    pub fn parts(&self) -> (&T, Option<usize>) {
        match self {
            Self::Value(value) => (value, None),
            Self::Input { slot, sample } => (sample, Some(*slot)),
        }
    }

    /// Returns the value; `None` for a parameter.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Input { .. } => None,
        }
    }
}

impl Comparand<Value> {
    /// Returns the value in a run with these inputs.
    fn bind(&self, inputs: &[Value]) -> Self {
        match self {
            Self::Input { slot, .. } => Self::Value(inputs.get(*slot).cloned().unwrap_or_default()),
            Self::Value(value) => Self::Value(value.clone()),
        }
    }
}

impl Comparand<String> {
    /// Returns the text in a run with these inputs.
    pub(crate) fn text<'v>(&'v self, inputs: &'v [Value]) -> &'v str {
        match self {
            Self::Value(text) => text,
            Self::Input { slot, .. } => match inputs.get(*slot) {
                Some(Value::Text(text)) => text,
                _ => "",
            },
        }
    }
}

impl From<Value> for Comparand<Value> {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl Predicate {
    /// Calls `visit` with every condition that has no parts.
    fn for_each_leaf(&self, visit: &mut impl FnMut(&Self)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.for_each_leaf(visit)),
            Self::Not(part) | Self::NotTrue(part) | Self::Param { condition: part, .. } => {
                part.for_each_leaf(visit);
            }
            leaf => visit(leaf),
        }
    }

    /// Calls `visit` with the source of every stored value that is compared.
    pub fn for_each_source(&self, visit: &mut impl FnMut(&ColumnSource)) {
        self.for_each_leaf(&mut |leaf| match leaf {
            Self::Exists { related, .. } => visit(&ColumnSource::Exists(*related)),
            Self::Compare { source, .. }
            | Self::Session { source, .. }
            | Self::SessionIn { source, .. }
            | Self::In { source, .. }
            | Self::Like { source, .. }
            | Self::Has { of: source, .. }
            | Self::IsNull { source, .. } => visit(source.stored()),
            Self::Search(search) => {
                search.columns.iter().for_each(|column| visit(&ColumnSource::Column(column.clone())));
            }
            Self::All(_) | Self::Any(_) | Self::Not(_) | Self::NotTrue(_) | Self::Param { .. } => {}
        });
    }

    /// Returns whether the condition depends on these related records, by their index in [`super::Node::related`].
    pub(crate) fn uses_related(&self, index: usize) -> bool {
        let mut is_used = false;
        self.for_each_source(&mut |source| {
            if let ColumnSource::Related { related, .. } | ColumnSource::Exists(related) = source {
                is_used |= *related == index;
            }
        });
        is_used
    }

    /// Returns whether the condition depends on related records.
    pub fn has_related(&self) -> bool {
        let mut is_used = false;
        self.for_each_source(&mut |source| is_used |= source.is_related());
        is_used
    }

    /// Calls `visit` with every session value that is compared, and with its slot.
    pub(crate) fn for_each_session(&self, visit: &mut impl FnMut(&SessionValue, usize)) {
        self.for_each_leaf(&mut |leaf| {
            if let Self::Session { value, slot, .. } | Self::SessionIn { value, slot, .. } = leaf {
                visit(value, *slot);
            }
        });
    }

    /// Returns the condition that a value is in a list of the session. A NULL in the list makes the result unknown unless the
    /// value is found.
    fn in_session(source: &ColumnSource, list: &[Value], negated: bool) -> Self {
        let values: Vec<_> =
            list.iter().filter(|value| **value != Value::Null).cloned().map(Comparand::Value).collect();
        let mut parts = Vec::new();
        if values.len() < list.len() {
            let value = Value::Null.into();
            parts.push(Self::Compare { source: source.clone(), op: CompareOp::Eq, value });
        }
        if !values.is_empty() {
            parts.push(Self::In { source: source.clone(), values, negated });
        }
        if negated { Self::All(parts) } else { Self::Any(parts) }
    }

    /// Returns the predicate with these values of the session and of parameters filled in. The depth of predicates is
    /// bounded by the parser or by the author of a policy.
    pub(crate) fn bind(&self, session: &[SessionInput], inputs: &[Value]) -> Cow<'_, Self> {
        if session.is_empty() && inputs.is_empty() {
            return Cow::Borrowed(self);
        }
        let below = |part: &Self| part.bind(session, inputs).into_owned();
        let all = |parts: &[Self]| parts.iter().map(below).collect();
        Cow::Owned(match self {
            Self::All(parts) => Self::All(all(parts)),
            Self::Any(parts) => Self::Any(all(parts)),
            Self::Not(part) => Self::Not(Box::new(below(part))),
            Self::NotTrue(part) => Self::NotTrue(Box::new(below(part))),
            Self::Param { condition, .. } => below(condition),
            Self::Session { source, op, slot, .. } => {
                let value = session.get(*slot).map(SessionInput::one).cloned().unwrap_or_default().into();
                Self::Compare { source: source.clone(), op: *op, value }
            }
            Self::SessionIn { source, slot, negated, .. } => {
                let values = session.get(*slot).map_or(&[Value::Null][..], SessionInput::many);
                Self::in_session(source, values, *negated)
            }
            Self::Compare { source, op, value: value @ Comparand::Input { .. } } => {
                Self::Compare { source: source.clone(), op: *op, value: value.bind(inputs) }
            }
            Self::In { source, values, negated } if has_inputs(values) => {
                let values = values.iter().map(|value| value.bind(inputs)).collect();
                Self::In { source: source.clone(), values, negated: *negated }
            }
            Self::Has { of, at, ty, values, all } if has_inputs(values) => {
                let values = values.iter().map(|value| value.bind(inputs)).collect();
                Self::Has { of: of.clone(), at: at.clone(), ty: *ty, values, all: *all }
            }
            Self::Like { source, pattern: pattern @ Comparand::Input { .. }, ignore_case } => {
                let pattern = Comparand::Value(pattern.text(inputs).to_owned());
                Self::Like { source: source.clone(), pattern, ignore_case: *ignore_case }
            }
            Self::Search(search) => {
                let text = Comparand::Value(search.text.text(inputs).to_owned());
                Self::Search(Box::new(Search { text, ..(**search).clone() }))
            }
            Self::Exists { .. }
            | Self::Compare { .. }
            | Self::In { .. }
            | Self::Like { .. }
            | Self::Has { .. }
            | Self::IsNull { .. } => {
                return Cow::Borrowed(self);
            }
        })
    }
}

fn has_inputs(values: &[Comparand<Value>]) -> bool {
    values.iter().any(|value| matches!(value, Comparand::Input { .. }))
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
