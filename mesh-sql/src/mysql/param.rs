//! Parameters of statements.

use std::borrow::Cow;
use std::fmt;

use sea_query::Expr;

use super::type_class::{Form, TypeClass, value_text};
use crate::custom::cast;
use crate::pattern::escape_end;
use crate::statement::Params;
use mesh_plan::Value;
use mesh_plan::{Plan, Target};

/// A parameter that is bound to a placeholder.
#[derive(Clone, Debug, PartialEq)]
pub struct Param(Binding);

#[derive(Clone, Debug, PartialEq)]
enum Binding {
    /// This value.
    Value(Value),
    /// A part of the id of a point read, or of the id that an earlier step of a write has returned.
    Id(usize, TypeClass),
    /// A value of the session, by its slot in [`Plan::session_value`].
    Session(usize, TypeClass),
    /// A JSON array of the session's values in the list of that slot ([`Plan::session_values`]).
    SessionList(usize, TypeClass),
    /// The value of a parameter, by its index into [`Plan::inputs`]. It is compared in the given form, or as text without one.
    Input(usize, TypeClass, Option<Form>),
    /// The pattern in the input with this index.
    Pattern(usize),
    /// The number of rows in the input with this index, plus the second number.
    Limit(usize, u8),
    /// A sort value of the row after which the page starts, by its index in [`Plan::cursor`]. It is compared in the given form,
    /// or as text without one.
    After(usize, TypeClass, Option<Form>),
}

impl Param {
    /// Creates a parameter for a value of a write.
    pub(super) fn written(value: Value) -> Self {
        Self(Binding::Value(value))
    }

    /// Creates a parameter for a part of the id that an earlier step of a write has returned.
    pub(super) fn written_id(part: usize) -> Self {
        Self(Binding::Id(part, TypeClass::Unknown))
    }

    /// Returns the value to bind in a run of the plan. A value that the column can never contain is NULL, which equals no
    /// value.
    pub fn for_read<'p>(&'p self, plan: &'p Plan) -> Cow<'p, Value> {
        Cow::Owned(match (&self.0, plan.target()) {
            (Binding::Value(value), _) => return Cow::Borrowed(value),
            (Binding::Id(part, class), Target::Point(id)) => {
                id.get(*part).map_or(Value::Null, |value| class.bind_value(value))
            }
            (Binding::Id(..), Target::Collection) => Value::Null,
            (Binding::Session(slot, class), _) => class.bind_value(plan.session_value(*slot)),
            (Binding::SessionList(slot, class), _) => array(class, plan.session_values(*slot)).into(),
            (Binding::Input(slot, class, form), _) => {
                plan.inputs().get(*slot).map_or(Value::Null, |value| read_as(class, *form, value))
            }
            (Binding::Pattern(slot), _) => match plan.inputs().get(*slot) {
                Some(Value::Text(pattern)) => escape_end(pattern).into(),
                _ => Value::Null,
            },
            (Binding::Limit(slot, more), _) => match plan.inputs().get(*slot) {
                Some(Value::Integer(rows)) => Value::Integer(rows + i64::from(*more)),
                _ => Value::Integer(0),
            },
            (Binding::After(index, class, form), _) => {
                let value = plan.cursor().and_then(|cursor| cursor.get(*index));
                value.map_or(Value::Null, |value| read_as(class, *form, value))
            }
        })
    }

    /// Returns the value to bind in a write whose earlier steps have returned this id.
    pub fn for_write<'p>(&'p self, id: &'p [Value]) -> Cow<'p, Value> {
        match &self.0 {
            Binding::Value(value) => Cow::Borrowed(value),
            Binding::Id(part, class) => {
                Cow::Owned(id.get(*part).map_or(Value::Null, |value| class.bind_value(value)))
            }
            // A write has no cursor, and its conditions have no slots.
            Binding::Session(..)
            | Binding::SessionList(..)
            | Binding::Input(..)
            | Binding::Pattern(_)
            | Binding::Limit(..)
            | Binding::After(..) => Cow::Owned(Value::Null),
        }
    }

    /// Returns whether the plan's cursor and parameters have values that compare in the form of this parameter.
    pub(super) fn fits(&self, plan: &Plan) -> bool {
        let is_of = |class: &TypeClass, form: Option<Form>, value: Option<&Value>| {
            value.is_some_and(|value| class.value(value).map(|(_, form)| form) == form)
        };
        match &self.0 {
            Binding::After(index, class, form) => {
                is_of(class, *form, plan.cursor().and_then(|cursor| cursor.get(*index)))
            }
            Binding::Input(slot, class, form) => is_of(class, *form, plan.inputs().get(*slot)),
            Binding::Value(_)
            | Binding::Id(..)
            | Binding::Session(..)
            | Binding::SessionList(..)
            | Binding::Pattern(_)
            | Binding::Limit(..) => true,
        }
    }
}

/// Returns the value to bind for a comparison in a form, or as text without one.
fn read_as(class: &TypeClass, form: Option<Form>, value: &Value) -> Value {
    let read = match form {
        Some(_) => class.value(value).map(|(value, _)| value),
        None => value_text(value).map(Value::Text),
    };
    read.unwrap_or_default()
}

/// Returns the values as a JSON array. A value that no record can have is NULL, which equals no value.
fn array(class: &TypeClass, values: &[Value]) -> String {
    let values = values.iter().map(|value| match class.bind_value(value) {
        Value::Boolean(value) => i64::from(value).into(),
        Value::Integer(value) => value.into(),
        Value::Real(value) => value.into(),
        Value::Text(text) => text.into(),
        Value::Null | Value::InvalidText(_) | Value::Bytes(_) => serde_json::Value::Null,
    });
    serde_json::Value::Array(values.collect()).to_string()
}

/// Adds a text parameter.
pub(super) fn text(params: &mut Params<Param>, text: String) -> Expr {
    params.add(Param(Binding::Value(Value::Text(text))))
}

/// Adds a value, or the input in the slot, that is compared in a form, or as text without one.
pub(super) fn value_or_input(
    params: &mut Params<Param>,
    class: &TypeClass,
    form: Option<Form>,
    (value, slot): (&Value, Option<usize>),
) -> Expr {
    let binding = match slot {
        Some(slot) => Binding::Input(slot, class.clone(), form),
        None => Binding::Value(read_as(class, form, value)),
    };
    cast_to(params.add(Param(binding)), form)
}

/// Adds a pattern, or the pattern of the input in the slot.
pub(super) fn pattern(params: &mut Params<Param>, pattern: &str, slot: Option<usize>) -> Expr {
    params.add(Param(match slot {
        Some(slot) => Binding::Pattern(slot),
        None => Binding::Value(escape_end(pattern).into()),
    }))
}

/// Adds the number of rows in an input plus `more`, and returns a reference to it for `LIMIT`.
pub(super) fn limit(params: &mut Params<Param>, slot: usize, more: u8) -> u64 {
    params.add_limit(Param(Binding::Limit(slot, more)))
}

/// Adds the number of rows in an input.
pub(super) fn rows(params: &mut Params<Param>, slot: usize) -> Expr {
    params.add(Param(Binding::Limit(slot, 0)))
}

/// Adds a part of the id of a point read.
pub(super) fn id(params: &mut Params<Param>, part: usize, class: &TypeClass) -> Expr {
    cast_to(params.add(Param(Binding::Id(part, class.clone()))), Some(class.bind_form()))
}

/// Adds a value of the session.
pub(super) fn session(params: &mut Params<Param>, slot: usize, class: &TypeClass) -> Expr {
    cast_to(params.add(Param(Binding::Session(slot, class.clone()))), Some(class.bind_form()))
}

/// Adds a list of the session.
pub(super) fn session_list(params: &mut Params<Param>, slot: usize, class: &TypeClass) -> Expr {
    params.add(Param(Binding::SessionList(slot, class.clone())))
}

/// Adds the cursor's value with an index. `value` is its value for this page.
pub(super) fn after(params: &mut Params<Param>, index: usize, class: &TypeClass, value: &Value) -> Expr {
    let form = class.value(value).map(|(_, form)| form);
    cast_to(params.add(Param(Binding::After(index, class.clone(), form))), form)
}

fn cast_to(param: Expr, form: Option<Form>) -> Expr {
    match form {
        Some(Form::Cast(ty)) => cast(param, ty),
        Some(Form::Bound) | None => param,
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Binding::Value(Value::Null) => f.write_str("NULL"),
            Binding::Value(Value::Boolean(value)) => write!(f, "{value}"),
            Binding::Value(Value::Integer(value)) => write!(f, "{value}"),
            Binding::Value(Value::Real(value)) => write!(f, "{value:?}"),
            Binding::Value(Value::Text(value)) => write!(f, "{value:?}"),
            Binding::Value(Value::InvalidText(value) | Value::Bytes(value)) => {
                write!(f, "{} bytes", value.len())
            }
            Binding::Id(0, _) => f.write_str("the id"),
            Binding::Id(part, _) => write!(f, "part {part} of the id"),
            Binding::Session(slot, _) => write!(f, "the session's value {slot}"),
            Binding::SessionList(slot, _) => write!(f, "the session's list {slot}"),
            Binding::Input(slot, ..) | Binding::Pattern(slot) | Binding::Limit(slot, 0) => {
                write!(f, "the parameters' value {slot}")
            }
            Binding::Limit(slot, more) => write!(f, "the parameters' value {slot} and {more}"),
            Binding::After(index, ..) => write!(f, "the cursor's value {index}"),
        }
    }
}
