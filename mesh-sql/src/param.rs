//! Parameters of statements.

use std::borrow::Cow;
use std::fmt;

use mesh_plan::{Plan, Target, Value};
use sea_query::Expr;

use crate::class::{Class, Form};
use crate::pattern::escape_end;
use crate::statement::Params;

/// A parameter that is bound to a placeholder.
#[derive(Clone, Debug, PartialEq)]
pub struct Param<C: Class>(Binding<C>);

#[derive(Clone, Debug, PartialEq)]
enum Binding<C: Class> {
    /// This value.
    Value(C::Bound),
    /// A part of the id of a point read, or of the id that an earlier step of a write has returned.
    Id(usize, C),
    /// A part of the id that an earlier step of a write has returned, which the database reads as the type of the column.
    WrittenId(usize, C),
    /// A value of the session, by its slot in [`Plan::session_value`].
    Session(usize, C),
    /// A list of the session's values in that slot ([`Plan::session_values`]).
    SessionList(usize, C),
    /// The value of a parameter, by its index into [`Plan::inputs`]. It is compared in the form, or as text without one.
    Input(usize, C, Option<Form>),
    /// A list of such values, compared in the form, or as text without one.
    InputList(Vec<usize>, C, Option<Form>),
    /// The pattern in the input with this index.
    Pattern(usize),
    /// The number of rows in the input with this index, plus the second number.
    Limit(usize, u8),
    /// A sort value of the row after which the page starts, by its index in [`Plan::cursor`]. It is compared in the form, or as
    /// text without one.
    After(usize, C, Option<Form>),
}

impl<C: Class> Param<C> {
    /// Creates a parameter with a constant value.
    pub(crate) fn value(value: C::Bound) -> Self {
        Self(Binding::Value(value))
    }

    /// Creates a parameter for a part of the id that an earlier step of a write has returned.
    pub(crate) fn written_id(part: usize, class: C) -> Self {
        Self(Binding::WrittenId(part, class))
    }

    /// Returns the value to bind in a run of the plan. A value that the column can never contain is NULL, which equals no
    /// value.
    pub(crate) fn bound_in_read(&self, plan: &Plan) -> Cow<'_, C::Bound> {
        let input = |slot: &usize| plan.inputs().get(*slot);
        let cursor = |index: &usize| plan.cursor().and_then(|cursor| cursor.get(*index));
        let bound = match (&self.0, plan.target()) {
            (Binding::Value(value), _) => return Cow::Borrowed(value),
            (Binding::Id(part, class), Target::Point(id)) => id.get(*part).map(|value| class.bind(value)),
            (Binding::Id(..), Target::Collection) | (Binding::WrittenId(..), _) => None,
            (Binding::Session(slot, class), _) => Some(class.bind(plan.session_value(*slot))),
            (Binding::SessionList(slot, class), _) => {
                Some(C::bind_list(plan.session_values(*slot).iter().map(|value| class.bind(value))))
            }
            (Binding::Input(slot, class, form), _) => input(slot).map(|value| read_as(class, *form, value)),
            (Binding::InputList(slots, class, form), _) => {
                Some(list_of(class, *form, slots.iter().filter_map(input)))
            }
            (Binding::Pattern(slot), _) => match input(slot) {
                Some(Value::Text(pattern)) => Some(C::bind_text(escape_end(pattern))),
                _ => None,
            },
            (Binding::Limit(slot, more), _) => Some(C::bind_integer(match input(slot) {
                Some(Value::Integer(rows)) => rows + i64::from(*more),
                _ => 0,
            })),
            (Binding::After(index, class, form), _) => {
                cursor(index).map(|value| read_as(class, *form, value))
            }
        };
        Cow::Owned(bound.unwrap_or_default())
    }

    /// Returns the value to bind in a write whose earlier steps have returned this id.
    pub(crate) fn bound_in_write(&self, id: &[Value]) -> Cow<'_, C::Bound> {
        let bound = match &self.0 {
            Binding::Value(value) => return Cow::Borrowed(value),
            Binding::Id(part, class) => id.get(*part).map(|value| class.bind(value)),
            Binding::WrittenId(part, class) => id.get(*part).map(|value| class.bind_returned(value)),
            // A write has no cursor, and its conditions have no slots.
            Binding::Session(..)
            | Binding::SessionList(..)
            | Binding::Input(..)
            | Binding::InputList(..)
            | Binding::Pattern(_)
            | Binding::Limit(..)
            | Binding::After(..) => None,
        };
        Cow::Owned(bound.unwrap_or_default())
    }

    /// Returns whether the parameter is a part of an id that is known only when the statement is run.
    pub fn is_id(&self) -> bool {
        matches!(self.0, Binding::Id(..) | Binding::WrittenId(..))
    }

    /// Returns whether the plan's cursor and parameters have values that compare in the form of this parameter.
    pub(crate) fn fits(&self, plan: &Plan) -> bool {
        let is_of = |class: &C, form: &Option<Form>, value: &Value| {
            C::is_storable(value) && class.read(value).map(|(_, form)| form) == *form
        };
        let input = |slot: &usize| plan.inputs().get(*slot);
        match &self.0 {
            Binding::After(index, class, form) => plan
                .cursor()
                .and_then(|after| after.get(*index))
                .is_some_and(|value| is_of(class, form, value)),
            Binding::Input(slot, class, form) => input(slot).is_some_and(|value| is_of(class, form, value)),
            Binding::InputList(slots, class, form) => {
                let values: Vec<_> = slots.iter().filter_map(input).collect();
                values.iter().all(|value| C::is_storable(value)) && shared_form(class, &values) == *form
            }
            Binding::Pattern(slot) => input(slot).is_some_and(C::is_storable),
            Binding::Value(_)
            | Binding::Id(..)
            | Binding::WrittenId(..)
            | Binding::Session(..)
            | Binding::SessionList(..)
            | Binding::Limit(..) => true,
        }
    }
}

/// Returns the value to bind for a comparison in a form, or as text without one.
fn read_as<C: Class>(class: &C, form: Option<Form>, value: &Value) -> C::Bound {
    match form {
        Some(_) => class.read(value).map(|(value, _)| value).unwrap_or_default(),
        None => C::bind_as_text(value),
    }
}

/// Returns the list to bind for a comparison in a form, or as text without one, without values that no record can have.
fn list_of<'v, C: Class>(class: &C, form: Option<Form>, values: impl Iterator<Item = &'v Value>) -> C::Bound {
    let bound = values.map(|value| read_as(class, form, value));
    C::bind_list(bound.filter(|value| *value != C::Bound::default()))
}

/// Returns the form in which all the values compare; `None` if there is no such form, or it names no type.
pub(crate) fn shared_form<C: Class>(class: &C, values: &[&Value]) -> Option<Form> {
    let mut forms = values.iter().map(|value| class.read(value).map(|(_, form)| form));
    let first = forms.next()??;
    (first != Form::Bound && forms.all(|form| form == Some(first))).then_some(first)
}

/// Adds a text.
pub(crate) fn text<C: Class>(params: &mut Params<Param<C>>, text: String) -> Expr {
    C::typed_text(params.add(Param(Binding::Value(C::bind_text(text)))))
}

/// Adds a value, or the input in the slot, that is compared in a form, or as text without one.
pub(crate) fn value_or_input<C: Class>(
    params: &mut Params<Param<C>>,
    class: &C,
    form: Option<Form>,
    (value, slot): (&Value, Option<usize>),
) -> Expr {
    let binding = match slot {
        Some(slot) => Binding::Input(slot, class.clone(), form),
        None => Binding::Value(read_as(class, form, value)),
    };
    class.typed(params.add(Param(binding)), form)
}

/// Adds a list of values, or of the inputs in the slots if all values have one, that are compared in a form, or as text without
/// one.
pub(crate) fn list<C: Class>(
    params: &mut Params<Param<C>>,
    class: &C,
    form: Option<Form>,
    values: &[(&Value, Option<usize>)],
) -> Expr {
    let slots: Option<Vec<usize>> = values.iter().map(|(_, slot)| *slot).collect();
    let binding = match slots {
        Some(slots) => Binding::InputList(slots, class.clone(), form),
        None => Binding::Value(list_of(class, form, values.iter().map(|(value, _)| *value))),
    };
    class.typed_list(params.add(Param(binding)), form)
}

/// Adds a pattern, or the pattern of the input in the slot.
pub(crate) fn pattern<C: Class>(params: &mut Params<Param<C>>, pattern: &str, slot: Option<usize>) -> Expr {
    let binding = match slot {
        Some(slot) => Binding::Pattern(slot),
        None => Binding::Value(C::bind_text(escape_end(pattern))),
    };
    C::typed_text(params.add(Param(binding)))
}

/// Adds the number of rows in an input plus `more`, and returns a reference to it for `LIMIT`.
pub(crate) fn limit<C: Class>(params: &mut Params<Param<C>>, slot: usize, more: u8) -> u64 {
    params.add_limit(Param(Binding::Limit(slot, more)))
}

/// Adds the number of rows in an input.
pub(crate) fn rows<C: Class>(params: &mut Params<Param<C>>, slot: usize) -> Expr {
    C::typed_integer(params.add(Param(Binding::Limit(slot, 0))))
}

/// Adds a part of the id of a point read.
pub(crate) fn id<C: Class>(params: &mut Params<Param<C>>, part: usize, class: &C) -> Expr {
    class.typed(params.add(Param(Binding::Id(part, class.clone()))), Some(class.bind_form()))
}

/// Adds a value of the session.
pub(crate) fn session<C: Class>(params: &mut Params<Param<C>>, slot: usize, class: &C) -> Expr {
    class.typed(params.add(Param(Binding::Session(slot, class.clone()))), Some(class.bind_form()))
}

/// Adds a list of the session.
pub(crate) fn session_list<C: Class>(params: &mut Params<Param<C>>, slot: usize, class: &C) -> Expr {
    class.typed_list(params.add(Param(Binding::SessionList(slot, class.clone()))), Some(class.bind_form()))
}

/// Adds the cursor's value with an index. `value` is its value for this page.
pub(crate) fn after<C: Class>(params: &mut Params<Param<C>>, index: usize, class: &C, value: &Value) -> Expr {
    let form = class.read(value).map(|(_, form)| form);
    class.typed(params.add(Param(Binding::After(index, class.clone(), form))), form)
}

impl<C: Class> fmt::Display for Param<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Binding::Value(value) => C::show(value, f),
            Binding::Id(0, _) | Binding::WrittenId(0, _) => f.write_str("the id"),
            Binding::Id(part, _) | Binding::WrittenId(part, _) => write!(f, "part {part} of the id"),
            Binding::Session(slot, _) => write!(f, "the session's value {slot}"),
            Binding::SessionList(slot, _) => write!(f, "the session's list {slot}"),
            Binding::Input(slot, ..) | Binding::Pattern(slot) | Binding::Limit(slot, 0) => {
                write!(f, "the parameters' value {slot}")
            }
            Binding::InputList(slots, ..) => {
                let (first, last) = (slots.first().copied(), slots.last().copied());
                write!(f, "the parameters' values {} to {}", first.unwrap_or(0), last.unwrap_or(0))
            }
            Binding::Limit(slot, more) => write!(f, "the parameters' value {slot} and {more}"),
            Binding::After(index, ..) => write!(f, "the cursor's value {index}"),
        }
    }
}

/// Writes a value of a query for people.
pub(crate) fn show_value(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Value::Null => f.write_str("NULL"),
        Value::Boolean(value) => write!(f, "{value}"),
        Value::Integer(value) => write!(f, "{value}"),
        Value::Real(value) => write!(f, "{value:?}"),
        Value::Text(value) => write!(f, "{value:?}"),
        Value::InvalidText(value) | Value::Bytes(value) => write!(f, "{} bytes", value.len()),
    }
}
