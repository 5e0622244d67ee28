//! Parameters of statements.

use std::borrow::Cow;
use std::fmt;

use super::{list, prefix};
use crate::param::show_value;
use mesh_plan::Value;
use mesh_plan::{Plan, Target};

/// A parameter that is bound to a placeholder.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// A value of the query.
    Value(Value),
    /// A part of the id of a point read, or of the id that an earlier step of a write has returned.
    Id(usize),
    /// A value of a write, by its position among the values of the body, followed by the parts of the ids that the path or the
    /// body names ([`super::WriteForm`]).
    Written(usize),
    /// A cell of the parent's row, by the index of its column.
    Parent(usize),
    /// A value of the session, by its slot in [`mesh_plan::Plan::session_value`].
    Session(usize),
    /// A JSON array of the session's values in the list of that slot ([`mesh_plan::Plan::session_values`]).
    SessionList(usize),
    /// A list of values. Those with a slot are in [`mesh_plan::Plan::inputs`].
    List(Vec<(Value, Option<usize>)>),
    /// The value of a parameter, by its index into [`mesh_plan::Plan::inputs`].
    Input(usize),
    /// A bound of the texts that begin as the pattern in the input with this index does: the exclusive upper bound if the flag
    /// is set, else the inclusive lower bound.
    PatternBound(usize, bool),
    /// The number of rows in the input with this index, plus the second number.
    Limit(usize, u8),
    /// A sort value of the row after which the page starts, by its index in [`mesh_plan::Plan::cursor`].
    After(usize),
}

impl Param {
    /// Returns the value if it is one of the query; `None` if it is known only at run time.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value to bind in a run of the plan; `None` for a constant, for a cell of the parent's row, and for a value
    /// of a write.
    pub fn for_read<'p>(&'p self, plan: &'p Plan) -> Option<Cow<'p, Value>> {
        let found = |value: Option<&'p Value>| value.map_or(Cow::Owned(Value::Null), Cow::Borrowed);
        Some(match (self, plan.target()) {
            (Self::Id(part), Target::Point(id)) => found(id.get(*part)),
            (Self::Session(slot), _) => Cow::Borrowed(plan.session_value(*slot)),
            (Self::SessionList(slot), _) => Cow::Owned(list::array(plan.session_values(*slot))),
            (Self::List(values), _) => {
                let value = |(value, slot): &'p (Value, Option<usize>)| match slot {
                    Some(slot) => plan.inputs().get(*slot).unwrap_or(value),
                    None => value,
                };
                Cow::Owned(list::array(values.iter().map(value)))
            }
            (Self::Input(slot), _) => found(plan.inputs().get(*slot)),
            (Self::PatternBound(slot, is_end), _) => match plan.inputs().get(*slot) {
                Some(Value::Text(pattern)) => Cow::Owned(prefix::bound(pattern, *is_end).into()),
                _ => Cow::Owned(Value::Null),
            },
            (Self::Limit(slot, more), _) => match plan.inputs().get(*slot) {
                Some(Value::Integer(rows)) => Cow::Owned(Value::Integer(rows + i64::from(*more))),
                _ => Cow::Owned(Value::Integer(0)),
            },
            (Self::After(index), _) => found(plan.cursor().and_then(|cursor| cursor.get(*index))),
            (Self::Id(_), Target::Collection) | (Self::Value(_) | Self::Written(_) | Self::Parent(_), _) => {
                return None;
            }
        })
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(0) => f.write_str("the id"),
            Self::Id(part) => write!(f, "part {part} of the id"),
            Self::Written(position) => write!(f, "the written value {position}"),
            Self::Parent(column) => write!(f, "the parent's column {column}"),
            Self::Session(slot) => write!(f, "the session's value {slot}"),
            Self::SessionList(slot) => write!(f, "the session's list {slot}"),
            Self::List(values) => write!(f, "a list of {} values", values.len()),
            Self::Input(slot) | Self::Limit(slot, 0) => write!(f, "the parameters' value {slot}"),
            Self::PatternBound(slot, _) => write!(f, "a beginning of the parameters' value {slot}"),
            Self::Limit(slot, more) => write!(f, "the parameters' value {slot} and {more}"),
            Self::After(index) => write!(f, "the cursor's value {index}"),
            Self::Value(value) => show_value(value, f),
        }
    }
}
