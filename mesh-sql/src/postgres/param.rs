//! Parameters of statements, all of which are bound as text.

use std::borrow::Cow;
use std::fmt;

use sea_query::Expr;

use super::type_class::{TypeClass, value_text};
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
    /// This text, or NULL.
    Text(Option<String>),
    /// A part of the id of a point read.
    Id(usize, TypeClass),
    /// A part of the id that an earlier step of a write has returned, which the database reads as the type of the column.
    WrittenId(usize, TypeClass),
    /// A value of the session, by its slot in [`Plan::session_value`].
    Session(usize, TypeClass),
    /// An array of the session's values in the list of that slot ([`Plan::session_values`]).
    SessionList(usize, TypeClass),
    /// The value of a parameter, by its index into [`Plan::inputs`]. It is compared in the named type, or as text without one.
    Input(usize, TypeClass, Option<String>),
    /// An array of such values, compared in the named type, or as text without one.
    InputList(Vec<usize>, TypeClass, Option<String>),
    /// The pattern in the input with this index.
    Pattern(usize),
    /// The number of rows in the input with this index, plus the second number.
    Limit(usize, u8),
    /// A sort value of the row after which the page starts, by its index in [`Plan::cursor`]. It is compared in the named type,
    /// or as text without one.
    After(usize, TypeClass, Option<String>),
}

impl Param {
    /// Creates a parameter for a value of a write, which the database reads as the type of the column.
    pub(super) fn written(class: &TypeClass, value: &Value) -> Self {
        Self(Binding::Text(class.written(value)))
    }

    /// Creates a parameter for a part of the id that an earlier step of a write has returned.
    pub(super) fn written_id(part: usize, class: TypeClass) -> Self {
        Self(Binding::WrittenId(part, class))
    }

    /// Returns the text to bind in a run of the plan. `None` is NULL. A value that the column can never contain is NULL too,
    /// because NULL equals no value.
    pub fn for_read(&self, plan: &Plan) -> Option<Cow<'_, str>> {
        match (&self.0, plan.target()) {
            (Binding::Text(text), _) => text.as_deref().map(Cow::Borrowed),
            (Binding::Id(part, class), Target::Point(id)) => class.bind_value(id.get(*part)?).map(Cow::Owned),
            (Binding::Id(..), Target::Collection) | (Binding::WrittenId(..), _) => None,
            (Binding::Session(slot, class), _) => class.bind_value(plan.session_value(*slot)).map(Cow::Owned),
            (Binding::SessionList(slot, class), _) => {
                let texts = plan.session_values(*slot).iter().map(|value| class.bind_value(value));
                Some(Cow::Owned(array(texts)))
            }
            (Binding::Input(slot, class, ty), _) => {
                read_as(class, ty.is_some(), plan.inputs().get(*slot)?).map(Cow::Owned)
            }
            (Binding::InputList(slots, class, ty), _) => {
                let values = slots.iter().filter_map(|slot| plan.inputs().get(*slot));
                let texts = values.filter_map(|value| read_as(class, ty.is_some(), value));
                Some(Cow::Owned(array(texts.map(Some))))
            }
            (Binding::Pattern(slot), _) => match plan.inputs().get(*slot) {
                Some(Value::Text(pattern)) => Some(Cow::Owned(escape_end(pattern))),
                _ => None,
            },
            (Binding::Limit(slot, more), _) => match plan.inputs().get(*slot) {
                Some(Value::Integer(rows)) => Some(Cow::Owned((rows + i64::from(*more)).to_string())),
                _ => Some(Cow::Borrowed("0")),
            },
            (Binding::After(index, class, ty), _) => {
                read_as(class, ty.is_some(), plan.cursor()?.get(*index)?).map(Cow::Owned)
            }
        }
    }

    /// Returns the text to bind in a write whose earlier steps have returned this id.
    pub fn for_write(&self, id: &[Value]) -> Option<Cow<'_, str>> {
        match &self.0 {
            Binding::Text(text) => text.as_deref().map(Cow::Borrowed),
            Binding::WrittenId(part, class) => class.written(id.get(*part)?).map(Cow::Owned),
            // A write has no cursor, and its conditions have no slots.
            Binding::Id(..)
            | Binding::Session(..)
            | Binding::SessionList(..)
            | Binding::Input(..)
            | Binding::InputList(..)
            | Binding::Pattern(_)
            | Binding::Limit(..)
            | Binding::After(..) => None,
        }
    }

    /// Returns whether the parameter is a part of an id that is known only when the statement is run.
    pub fn is_id(&self) -> bool {
        matches!(self.0, Binding::Id(..) | Binding::WrittenId(..))
    }

    /// Returns whether the plan's cursor and parameters have values that compare in the type of this parameter.
    pub(super) fn fits(&self, plan: &Plan) -> bool {
        let is_of = |class: &TypeClass, ty: &Option<String>, value: &Value| {
            !has_nul(value) && class.value(value).map(|(_, ty)| ty) == ty.as_deref()
        };
        match &self.0 {
            Binding::After(index, class, ty) => {
                plan.cursor().and_then(|after| after.get(*index)).is_some_and(|value| is_of(class, ty, value))
            }
            Binding::Input(slot, class, ty) => {
                plan.inputs().get(*slot).is_some_and(|value| is_of(class, ty, value))
            }
            Binding::InputList(slots, class, ty) => {
                let values: Vec<_> = slots.iter().filter_map(|slot| plan.inputs().get(*slot)).collect();
                !values.iter().any(|value| has_nul(value)) && shared_type(class, &values) == ty.as_deref()
            }
            Binding::Pattern(slot) => plan.inputs().get(*slot).is_some_and(|value| !has_nul(value)),
            Binding::Text(_)
            | Binding::Id(..)
            | Binding::WrittenId(..)
            | Binding::Session(..)
            | Binding::SessionList(..)
            | Binding::Limit(..) => true,
        }
    }
}

/// Returns the text of a value as the type of the class reads it if `is_typed` is set, else the plain text of the value.
fn read_as(class: &TypeClass, is_typed: bool, value: &Value) -> Option<String> {
    if is_typed { class.value(value).map(|(text, _)| text) } else { value_text(value) }
}

/// Returns the type in which all the values compare; `None` if there is no such type.
pub(super) fn shared_type<'c>(class: &'c TypeClass, values: &[&Value]) -> Option<&'c str> {
    let mut types = values.iter().map(|value| class.value(value).map(|(_, ty)| ty));
    let first = types.next()??;
    // The type of the array's elements has to be named.
    (!first.is_empty() && types.all(|ty| ty == Some(first))).then_some(first)
}

/// Returns the text form of an array, in which `None` is NULL.
pub fn array(texts: impl Iterator<Item = Option<String>>) -> String {
    let quoted = texts.map(|text| {
        let Some(text) = text else { return "NULL".to_owned() };
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    });
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

/// Returns whether a value is text with the character NUL, which the database cannot store.
pub(super) fn has_nul(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text.contains('\0'))
}

/// Adds a text that is read as a value of the type `ty`.
pub(super) fn text(params: &mut Params<Param>, text: String, ty: &str) -> Expr {
    typed(params.add(Param(Binding::Text(Some(text)))), ty)
}

/// Adds a value, or the input in the slot, that is compared in a type, or as text without one.
pub(super) fn value_or_input(
    params: &mut Params<Param>,
    class: &TypeClass,
    ty: Option<&str>,
    (value, slot): (&Value, Option<usize>),
) -> Expr {
    let binding = match slot {
        Some(slot) => Binding::Input(slot, class.clone(), ty.map(str::to_owned)),
        None => Binding::Text(Some(read_as(class, ty.is_some(), value).unwrap_or_default())),
    };
    typed(params.add(Param(binding)), ty.unwrap_or("text"))
}

/// Adds an array of values, or of the inputs in the slots if all values have one, that are compared in a type, or as text
/// without one.
pub(super) fn list(
    params: &mut Params<Param>,
    class: &TypeClass,
    ty: Option<&str>,
    values: &[(&Value, Option<usize>)],
) -> Expr {
    let slots: Option<Vec<usize>> = values.iter().map(|(_, slot)| *slot).collect();
    let binding = match slots {
        Some(slots) => Binding::InputList(slots, class.clone(), ty.map(str::to_owned)),
        None => {
            let texts = values.iter().filter_map(|(value, _)| read_as(class, ty.is_some(), value));
            Binding::Text(Some(array(texts.map(Some))))
        }
    };
    typed(params.add(Param(binding)), &format!("{}[]", ty.unwrap_or("text")))
}

/// Adds a pattern, or the pattern of the input in the slot.
pub(super) fn pattern(params: &mut Params<Param>, pattern: &str, slot: Option<usize>) -> Expr {
    let binding = match slot {
        Some(slot) => Binding::Pattern(slot),
        None => Binding::Text(Some(escape_end(pattern))),
    };
    typed(params.add(Param(binding)), "text")
}

/// Adds the number of rows in an input plus `more`, and returns a reference to it for `LIMIT`.
pub(super) fn limit(params: &mut Params<Param>, slot: usize, more: u8) -> u64 {
    params.add_limit(Param(Binding::Limit(slot, more)))
}

/// Adds the number of rows in an input.
pub(super) fn rows(params: &mut Params<Param>, slot: usize) -> Expr {
    typed(params.add(Param(Binding::Limit(slot, 0))), "int8")
}

/// Adds a part of the id of a point read.
pub(super) fn id(params: &mut Params<Param>, part: usize, class: &TypeClass) -> Expr {
    typed(params.add(Param(Binding::Id(part, class.clone()))), class.bind_type())
}

/// Adds an array of this part of the ids of several point reads; `None` if the type of the part cannot be named.
pub(super) fn ids(params: &mut Params<Param>, part: usize, class: &TypeClass) -> Option<Expr> {
    let ty = Some(class.bind_type()).filter(|ty| !ty.is_empty())?;
    Some(cast(params.add(Param(Binding::Id(part, class.clone()))), &format!("{ty}[]")))
}

/// Adds a value of the session.
pub(super) fn session(params: &mut Params<Param>, slot: usize, class: &TypeClass) -> Expr {
    typed(params.add(Param(Binding::Session(slot, class.clone()))), class.bind_type())
}

/// Adds a list of the session.
pub(super) fn session_list(params: &mut Params<Param>, slot: usize, class: &TypeClass) -> Expr {
    let ty = class.bind_type();
    let ty = if ty.is_empty() { String::new() } else { format!("{ty}[]") };
    typed(params.add(Param(Binding::SessionList(slot, class.clone()))), &ty)
}

/// Adds the cursor's value with an index. `value` is its value for this page.
pub(super) fn after(params: &mut Params<Param>, index: usize, class: &TypeClass, value: &Value) -> Expr {
    let ty = class.value(value).map(|(_, ty)| ty);
    let param = Param(Binding::After(index, class.clone(), ty.map(str::to_owned)));
    typed(params.add(param), ty.unwrap_or("text"))
}

/// Names the type of a parameter, unless the database has to infer it.
fn typed(param: Expr, ty: &str) -> Expr {
    if ty.is_empty() { param } else { cast(param, ty) }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Binding::Text(Some(text)) => write!(f, "{text:?}"),
            Binding::Text(None) => f.write_str("NULL"),
            Binding::Id(0, _) | Binding::WrittenId(0, _) => f.write_str("the id"),
            Binding::Id(part, _) | Binding::WrittenId(part, _) => write!(f, "part {part} of the id"),
            Binding::Session(slot, _) => write!(f, "the session's value {slot}"),
            Binding::Input(slot, ..) | Binding::Pattern(slot) | Binding::Limit(slot, 0) => {
                write!(f, "the parameters' value {slot}")
            }
            Binding::SessionList(slot, _) => write!(f, "the session's list {slot}"),
            Binding::InputList(slots, ..) => {
                let (first, last) = (slots.first().copied(), slots.last().copied());
                write!(f, "the parameters' values {} to {}", first.unwrap_or(0), last.unwrap_or(0))
            }
            Binding::Limit(slot, more) => write!(f, "the parameters' value {slot} and {more}"),
            Binding::After(index, ..) => write!(f, "the cursor's value {index}"),
        }
    }
}
