//! Parameters of statements.

use std::borrow::Cow;
use std::fmt;

use mesh_plan::plan::{Comparand, ReadTarget, RowCount};
use mesh_plan::{Plan, Value};
use sea_query::Expr;

use crate::class::{Class, ParamType};
use crate::pattern::{escape_end, prefix_bound};
use crate::search::SearchForm;
use crate::statement::{Params, ValueOrInput};

/// A parameter that is bound to a placeholder. A value that is compared in no type is compared as text.
#[derive(Clone, Debug, PartialEq)]
pub enum Param<C> {
    /// This value.
    Value(Value),
    /// A part of the id of a point read, or of the id that an earlier step of a write has returned.
    Id(usize, C),
    /// A part of the id that an earlier step of a write has returned, which the database reads as the type of the column.
    WrittenId(usize, C),
    /// A cell of the parent's row, by the index of its column.
    Parent(usize),
    /// A value of the session, by its slot in [`Plan::session_value`].
    Session(usize, C),
    /// A list of the session's values in that slot ([`Plan::session_values`]).
    SessionList(usize, C),
    /// The value of a parameter, by its index into [`Plan::inputs`].
    Input(usize, C, Option<ParamType>),
    /// A list of values. Those with a slot are in [`Plan::inputs`].
    List(Vec<(Value, Option<usize>)>, C, Option<ParamType>),
    /// The pattern in the input with this index.
    Pattern(usize),
    /// The words of the search text in the input with this index.
    Search(usize, SearchForm),
    /// A bound of the texts that begin as the pattern in the input with this index does: the exclusive upper bound if the flag
    /// is set, else the inclusive lower bound.
    PatternBound(usize, bool),
    /// The number of rows in the input with this index, plus the second number.
    Limit(usize, u8),
    /// A sort value of the row after which the page starts, by its index in [`Plan::cursor`].
    After(usize, C, Option<ParamType>),
}

impl<C: Class> Param<C> {
    /// Returns the value if it is one of the query; `None` if it is known only at run time.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value to bind in a run of the plan. A value that the column can never contain is NULL, which equals no
    /// value.
    pub fn value_for_read<'p>(&'p self, plan: &'p Plan) -> Cow<'p, Value> {
        let input = |slot: &usize| plan.inputs().get(*slot);
        let found = match (self, plan.target()) {
            (Self::Value(value), _) => Some(Cow::Borrowed(value)),
            (Self::Id(part, class), ReadTarget::Point(id)) => id.get(*part).map(|value| class.bind(value)),
            (Self::Id(..), ReadTarget::Collection) | (Self::WrittenId(..) | Self::Parent(_), _) => None,
            (Self::Session(slot, class), _) => Some(class.bind(plan.session_value(*slot))),
            (Self::SessionList(slot, class), _) => {
                let values = plan.session_values(*slot).iter().map(|value| class.bind(value));
                Some(Cow::Owned(C::list(values)))
            }
            (Self::Input(slot, class, ty), _) => input(slot).map(|value| read_as(class, *ty, value)),
            (Self::List(values, class, ty), _) => {
                let values =
                    values.iter().map(|(value, slot)| slot.as_ref().and_then(input).unwrap_or(value));
                Some(Cow::Owned(list_of(class, *ty, values)))
            }
            (Self::Pattern(slot), _) => match input(slot) {
                Some(Value::Text(pattern)) => Some(Cow::Owned(escape_end(pattern).into())),
                _ => None,
            },
            (Self::Search(slot, form), _) => match input(slot) {
                Some(Value::Text(text)) => Some(Cow::Owned(form.of::<C>(text))),
                _ => None,
            },
            (Self::PatternBound(slot, is_end), _) => match input(slot) {
                Some(Value::Text(pattern)) => Some(Cow::Owned(prefix_bound(pattern, *is_end).into())),
                _ => None,
            },
            (Self::Limit(slot, more), _) => Some(Cow::Owned(match input(slot) {
                Some(Value::Integer(rows)) => (rows + i64::from(*more)).into(),
                _ => 0.into(),
            })),
            (Self::After(index, class, ty), _) => {
                let value = plan.cursor().and_then(|cursor| cursor.get(*index));
                value.map(|value| read_as(class, *ty, value))
            }
        };
        found.unwrap_or(Cow::Owned(Value::Null))
    }

    /// Returns the value to bind in a write whose earlier steps have returned this id. A write has no cursor, and its conditions
    /// have no slots.
    pub fn value_for_write<'p>(&'p self, id: &'p [Value]) -> Cow<'p, Value> {
        let found = match self {
            Self::Value(value) => Some(Cow::Borrowed(value)),
            Self::Id(part, class) => id.get(*part).map(|value| class.bind(value)),
            Self::WrittenId(part, class) => id.get(*part).map(|value| Cow::Owned(class.written(value))),
            _ => None,
        };
        found.unwrap_or(Cow::Owned(Value::Null))
    }

    /// Returns whether the parameter is a part of an id that is known only when the statement is run.
    pub fn is_id(&self) -> bool {
        matches!(self, Self::Id(..) | Self::WrittenId(..))
    }

    /// Returns whether the plan's cursor and parameters have values that compare in the type of this parameter.
    pub(crate) fn fits(&self, plan: &Plan) -> bool {
        let is_of = |class: &C, ty: &Option<ParamType>, value: &Value| {
            C::is_storable(value) && class.read(value).map(|(_, ty)| ty) == *ty
        };
        let input = |slot: &usize| plan.inputs().get(*slot);
        match self {
            Self::After(index, class, ty) => {
                let value = plan.cursor().and_then(|cursor| cursor.get(*index));
                value.is_some_and(|value| is_of(class, ty, value))
            }
            Self::Input(slot, class, ty) => input(slot).is_some_and(|value| is_of(class, ty, value)),
            Self::List(values, class, ty) => {
                let values =
                    values.iter().map(|(value, slot)| slot.as_ref().and_then(input).unwrap_or(value));
                let values: Vec<_> = values.collect();
                values.iter().all(|value| C::is_storable(value)) && shared_type(class, &values) == *ty
            }
            Self::Pattern(slot) => input(slot).is_some_and(C::is_storable),
            _ => true,
        }
    }
}

/// Returns the value to bind for a comparison in a type, or as text without one.
fn read_as<'v, C: Class>(class: &C, ty: Option<ParamType>, value: &'v Value) -> Cow<'v, Value> {
    match ty {
        Some(_) => class.read(value).map_or(Cow::Owned(Value::Null), |(value, _)| value),
        None => C::bind_as_text(value),
    }
}

/// Returns the list to bind for a comparison in a type, or as text without one, without values that no record can have.
fn list_of<'v, C: Class>(class: &C, ty: Option<ParamType>, values: impl Iterator<Item = &'v Value>) -> Value {
    let bound = values.map(|value| read_as(class, ty, value));
    C::list(bound.filter(|value| **value != Value::Null))
}

/// Returns the type in which all the values compare; `None` if there is no such type, or it has no name.
pub(crate) fn shared_type<C: Class>(class: &C, values: &[&Value]) -> Option<ParamType> {
    let mut types = values.iter().map(|value| class.read(value).map(|(_, ty)| ty));
    let first = types.next()??;
    (first != ParamType::Inferred && types.all(|ty| ty == Some(first))).then_some(first)
}

/// Adds a text.
pub(crate) fn text<C: Class>(params: &mut Params<'_, Param<C>>, text: String) -> Expr {
    C::of(None).typed(params.add(Param::Value(text.into())), None)
}

/// Adds a value, or the input in the slot, that is compared in a type, or as text without one.
pub(crate) fn value_or_input<C: Class>(
    params: &mut Params<'_, Param<C>>,
    class: &C,
    ty: Option<ParamType>,
    (value, slot): ValueOrInput<'_>,
) -> Expr {
    let param = match slot {
        Some(slot) => Param::Input(slot, class.clone(), ty),
        None => Param::Value(read_as(class, ty, value).into_owned()),
    };
    class.typed(params.add(param), ty)
}

/// Adds a list of values and inputs that are compared in a type, or as text without one.
pub(crate) fn list<C: Class>(
    params: &mut Params<'_, Param<C>>,
    class: &C,
    ty: Option<ParamType>,
    values: &[ValueOrInput<'_>],
) -> Expr {
    let param = if values.iter().all(|(_, slot)| slot.is_none()) {
        Param::Value(list_of(class, ty, values.iter().map(|(value, _)| *value)))
    } else {
        let values = values.iter().map(|(value, slot)| ((*value).clone(), *slot));
        Param::List(values.collect(), class.clone(), ty)
    };
    class.typed_list(params.add(param), ty)
}

/// Adds a pattern, or the pattern of the input in the slot.
pub(crate) fn pattern<C: Class>(
    params: &mut Params<'_, Param<C>>,
    pattern: &str,
    slot: Option<usize>,
) -> Expr {
    let param = slot.map_or_else(|| Param::Value(escape_end(pattern).into()), Param::Pattern);
    C::of(None).typed(params.add(param), None)
}

/// Adds the words of a search in a form.
pub(crate) fn search<C: Class>(
    params: &mut Params<'_, Param<C>>,
    text: &Comparand<String>,
    form: SearchForm,
) -> Expr {
    let (text, slot) = text.parts();
    params.add(match slot {
        Some(slot) => Param::Search(slot, form),
        None => Param::Value(form.of::<C>(text)),
    })
}

/// Adds the number of rows in an input plus `more`, and returns a reference to it for `LIMIT`.
pub(crate) fn limit<C: Class>(params: &mut Params<'_, Param<C>>, slot: usize, more: u8) -> u64 {
    params.add_limit(Param::Limit(slot, more))
}

/// Adds the number of rows in an input.
pub(crate) fn rows<C: Class>(params: &mut Params<'_, Param<C>>, slot: usize) -> Expr {
    C::of(None).typed(params.add(Param::Limit(slot, 0)), Some(C::INTEGER))
}

/// Adds the number of rows before a page.
pub(crate) fn skip<C: Class>(params: &mut Params<'_, Param<C>>, skip: RowCount) -> Expr {
    C::of(None).typed(params.add(skip_param(skip)), Some(C::INTEGER))
}

/// Does the same for `OFFSET`, and returns a reference to the number.
pub(crate) fn offset<C: Class>(params: &mut Params<'_, Param<C>>, skip: RowCount) -> u64 {
    params.add_limit(skip_param(skip))
}

/// The number is never part of the text, so that all pages of a list have the same statement.
fn skip_param<C>(skip: RowCount) -> Param<C> {
    match skip {
        RowCount::Rows(rows) => Param::Value(Value::Integer(rows.into())),
        RowCount::Input(slot) => Param::Limit(slot, 0),
    }
}

/// Adds a part of the id of a point read.
pub(crate) fn id<C: Class>(params: &mut Params<'_, Param<C>>, part: usize, class: &C) -> Expr {
    class.typed(params.add(Param::Id(part, class.clone())), Some(class.bind_type()))
}

/// Adds a value of the session.
pub(crate) fn session<C: Class>(params: &mut Params<'_, Param<C>>, slot: usize, class: &C) -> Expr {
    class.typed(params.add(Param::Session(slot, class.clone())), Some(class.bind_type()))
}

/// Adds a list of the session.
pub(crate) fn session_list<C: Class>(params: &mut Params<'_, Param<C>>, slot: usize, class: &C) -> Expr {
    class.typed_list(params.add(Param::SessionList(slot, class.clone())), Some(class.bind_type()))
}

/// Adds the cursor's value with an index. `value` is its value for this page.
pub(crate) fn after<C: Class>(
    params: &mut Params<'_, Param<C>>,
    index: usize,
    class: &C,
    value: &Value,
) -> Expr {
    let ty = class.read(value).map(|(_, ty)| ty);
    class.typed(params.add(Param::After(index, class.clone(), ty)), ty)
}

impl<C> fmt::Display for Param<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => match value {
                Value::Null => f.write_str("NULL"),
                Value::Boolean(value) => write!(f, "{value}"),
                Value::Integer(value) => write!(f, "{value}"),
                Value::Real(value) => write!(f, "{value:?}"),
                Value::Text(value) => write!(f, "{value:?}"),
                Value::InvalidText(value) | Value::Bytes(value) => write!(f, "{} bytes", value.len()),
            },
            Self::Id(0, _) | Self::WrittenId(0, _) => f.write_str("the id"),
            Self::Id(part, _) | Self::WrittenId(part, _) => write!(f, "part {part} of the id"),
            Self::Parent(column) => write!(f, "the parent's column {column}"),
            Self::Session(slot, _) => write!(f, "the session's value {slot}"),
            Self::SessionList(slot, _) => write!(f, "the session's list {slot}"),
            Self::Input(slot, ..) | Self::Pattern(slot) | Self::Search(slot, _) | Self::Limit(slot, 0) => {
                write!(f, "the parameters' value {slot}")
            }
            Self::List(values, ..) => write!(f, "a list of {} values", values.len()),
            Self::PatternBound(slot, _) => write!(f, "a beginning of the parameters' value {slot}"),
            Self::Limit(slot, more) => write!(f, "the parameters' value {slot} and {more}"),
            Self::After(index, ..) => write!(f, "the cursor's value {index}"),
        }
    }
}
