//! How is a plan said in SQL? One statement for each node, every value bound, every identifier quoted.
//!
//! Nested nodes are fetched parent by parent: their statements take the parent's key as a parameter, so a
//! limit is per parent by itself and no row is ever joined with its siblings. That is the fastest way where a
//! statement costs a microsecond and no round trip, as in SQLite.

mod group;
mod keyset;
mod postgres;
mod predicate;
mod prefix;
mod select;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

use sea_query::{SelectStatement, SqliteQueryBuilder, Value as SqlValue};

use crate::plan::{Join, Node, Plan};
use crate::{Target, Value};
pub use postgres::{Bound, Features, OneStatement, Part, postgres_text};
pub use write::{Missing, Step};

/// Names of the functions that a SQLite back end must register. They are prefixed, so that views keep the built-in
/// functions of the database.
pub mod functions {
    /// `(text, pattern)`: whether the text matches a [`crate::Pattern`], case-sensitively.
    pub const LIKE: &str = "mesh_like";
    /// `(text, pattern)`: whether the text matches a [`crate::Pattern`], ignoring letter case.
    pub const ILIKE: &str = "mesh_ilike";
    /// Aggregate `(value)`: the sum, which overflows only if the total does.
    pub const SUM: &str = "mesh_sum";
}

/// The statements of a plan, as a tree of the same form as its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Statements {
    /// The statement of this node.
    pub statement: Statement,
    /// Those of its joins, in the plan's order.
    pub joins: Vec<Self>,
}

/// SQL text with its parameters, in the order of their placeholders.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The text. It depends on the schema and on the form of the query, never on a value in it.
    pub sql: String,
    /// What to bind.
    pub params: Vec<Param>,
}

/// What a placeholder stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// A value of the query.
    Value(Value),
    /// The id of a point read.
    Id,
    /// A cell of the parent's row, by its place in the parent's columns.
    Parent(usize),
    /// A value of the session: what [`Plan::session_value`] has at that place.
    Session(usize),
    /// A sort value of the row after which the page starts: what [`Plan::after`] has at that place.
    After(usize),
}

impl Plan {
    /// The plan's statements, made when first asked for and kept with the plan.
    pub fn statements(&self) -> &Statements {
        let point = matches!(self.target, Target::Point(_));
        self.query.statements.get_or_init(|| lower(&self.query.node, None, point, &mut 0))
    }
}

/// Plans are nested as deep as queries, which is bounded.
fn lower(node: &Node, join: Option<&Join>, point: bool, count: &mut usize) -> Statements {
    let number = *count;
    *count += 1;
    Statements {
        statement: finish(&select::lower(node, join, point, number), join),
        joins: node.joins.iter().map(|join| lower(&join.node, Some(join), false, count)).collect(),
    }
}

/// Renders a statement. What is known only when it runs stands in it as a value of a type that is used for
/// nothing else; see [`slot`].
fn finish(select: &SelectStatement, join: Option<&Join>) -> Statement {
    let (sql, values) = select.build(SqliteQueryBuilder);
    let params = values.0.into_iter().map(|value| param(value, join)).collect();
    Statement { sql, params }
}

/// Placeholders for what is known only when a statement runs.
mod slot {
    use sea_query::Value;

    /// The id of a point read.
    pub(super) fn id() -> Value {
        Value::SmallUnsigned(None)
    }

    /// The value of the session at that place of the plan.
    pub(super) fn session(index: usize) -> Value {
        Value::SmallInt(i16::try_from(index).ok())
    }

    /// The cursor's value of that place.
    pub(super) fn after(index: usize) -> Value {
        Value::Int(i32::try_from(index).ok())
    }

    /// The parent's key column of that place.
    pub(super) fn parent(index: usize) -> Value {
        Value::Unsigned(Some(index as u32))
    }
}

fn param(value: SqlValue, join: Option<&Join>) -> Param {
    match value {
        SqlValue::SmallUnsigned(None) => Param::Id,
        SqlValue::Unsigned(Some(index)) => {
            let column = join.and_then(|join| join.parent_keys.get(index as usize));
            Param::Parent(column.copied().unwrap_or_default())
        }
        SqlValue::SmallInt(Some(index)) => Param::Session(index as usize),
        SqlValue::Int(Some(index)) => Param::After(index as usize),
        SqlValue::Bool(Some(value)) => Param::Value(Value::Boolean(value)),
        SqlValue::BigInt(Some(value)) => Param::Value(Value::Integer(value)),
        SqlValue::BigUnsigned(Some(value)) => Param::Value(Value::Integer(value as i64)),
        SqlValue::Double(Some(value)) => Param::Value(Value::Real(value)),
        SqlValue::String(Some(value)) => Param::Value(Value::Text(value)),
        SqlValue::Bytes(Some(value)) => Param::Value(Value::Bytes(value)),
        // `bound` makes no others.
        _ => Param::Value(Value::Null),
    }
}

/// A value of a query, to be bound.
fn bound(value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::String(None),
        Value::Boolean(value) => SqlValue::Bool(Some(*value)),
        Value::Integer(value) => SqlValue::BigInt(Some(*value)),
        Value::Real(value) => SqlValue::Double(Some(*value)),
        Value::Text(value) => SqlValue::String(Some(value.clone())),
        Value::Bytes(value) => SqlValue::Bytes(Some(value.clone())),
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sql)?;
        let params: Vec<_> = self.params.iter().map(Param::to_string).collect();
        if params.is_empty() { Ok(()) } else { write!(f, "\n  -- {}", params.join(", ")) }
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => f.write_str("the id"),
            Self::Parent(column) => write!(f, "the parent's column {column}"),
            Self::Session(slot) => write!(f, "the session's value {slot}"),
            Self::After(place) => write!(f, "the cursor's value {place}"),
            Self::Value(Value::Null) => f.write_str("NULL"),
            Self::Value(Value::Boolean(value)) => write!(f, "{value}"),
            Self::Value(Value::Integer(value)) => write!(f, "{value}"),
            Self::Value(Value::Real(value)) => write!(f, "{value:?}"),
            Self::Value(Value::Text(value)) => write!(f, "{value:?}"),
            Self::Value(Value::Bytes(value)) => write!(f, "{} bytes", value.len()),
        }
    }
}
