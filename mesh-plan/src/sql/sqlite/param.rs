//! Parameters of statements.

use std::fmt;

use crate::Value;

/// What is bound to a placeholder.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// A value of the query.
    Value(Value),
    /// A part of the id of a point read, or of the id that an earlier step of a write has returned.
    Id(usize),
    /// A cell of the parent's row, by the index of its column.
    Parent(usize),
    /// A value of the session, by its slot in [`crate::Plan::session_value`].
    Session(usize),
    /// A sort value of the row after which the page starts, by its index in [`crate::Plan::after`].
    After(usize),
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(0) => f.write_str("the id"),
            Self::Id(part) => write!(f, "part {part} of the id"),
            Self::Parent(column) => write!(f, "the parent's column {column}"),
            Self::Session(slot) => write!(f, "the session's value {slot}"),
            Self::After(index) => write!(f, "the cursor's value {index}"),
            Self::Value(Value::Null) => f.write_str("NULL"),
            Self::Value(Value::Boolean(value)) => write!(f, "{value}"),
            Self::Value(Value::Integer(value)) => write!(f, "{value}"),
            Self::Value(Value::Real(value)) => write!(f, "{value:?}"),
            Self::Value(Value::Text(value)) => write!(f, "{value:?}"),
            Self::Value(Value::Bytes(value)) => write!(f, "{} bytes", value.len()),
        }
    }
}
