//! Parameters of statements, all of which are bound as text.

use std::borrow::Cow;
use std::fmt;

use sea_query::Expr;

use super::type_class::{TypeClass, text_of};
use crate::Value;
use crate::plan::{Plan, Target};
use crate::sql::custom::cast;
use crate::sql::statement::Params;

/// What is bound to a placeholder.
#[derive(Clone, Debug, PartialEq)]
pub struct Param(Binding);

#[derive(Clone, Debug, PartialEq)]
enum Binding {
    /// This text, or NULL.
    Text(Option<String>),
    /// A part of the id of a point read, or of the id that an earlier step of a write has returned.
    Id(usize, TypeClass),
    /// A value of the session, by its slot in [`Plan::session_value`].
    Session(usize, TypeClass),
    /// A sort value of the row after which the page starts, by its index in [`Plan::after`]. It is compared in the type of
    /// that name, or else as text.
    After(usize, TypeClass, Option<String>),
}

impl Param {
    /// Creates a parameter for a value of a write, which the database reads as the type of the column.
    pub(super) fn written(value: &Value) -> Self {
        Self(Binding::Text(match value {
            // Also text that the database refuses to store.
            Value::Text(text) => Some(text.clone()),
            value => text_of(value),
        }))
    }

    /// Creates a parameter for a part of the id that an earlier step of a write has returned.
    pub(super) fn written_id(part: usize) -> Self {
        Self(Binding::Id(part, TypeClass::Unknown))
    }

    /// Returns the text to bind in a run of the plan. `None` is NULL: a value that the column can never hold, and so
    /// equals none.
    pub fn for_read(&self, plan: &Plan) -> Option<Cow<'_, str>> {
        match (&self.0, plan.target()) {
            (Binding::Text(text), _) => text.as_deref().map(Cow::Borrowed),
            (Binding::Id(part, class), Target::Point(id)) => class.held(id.get(*part)?).map(Cow::Owned),
            (Binding::Id(..), Target::Collection) => None,
            (Binding::Session(slot, class), _) => class.held(plan.session_value(*slot)).map(Cow::Owned),
            (Binding::After(index, class, ty), _) => {
                let value = plan.cursor()?.get(*index)?;
                let text =
                    if ty.is_some() { class.value(value).map(|(text, _)| text) } else { text_of(value) };
                text.map(Cow::Owned)
            }
        }
    }

    /// Returns the text to bind in a write whose earlier steps have returned this id.
    pub fn for_write(&self, id: &[Value]) -> Option<Cow<'_, str>> {
        match &self.0 {
            Binding::Text(text) => text.as_deref().map(Cow::Borrowed),
            Binding::Id(part, class) => class.held(id.get(*part)?).map(Cow::Owned),
            // Conditions of a write have no slots, and it has no cursor.
            Binding::Session(..) | Binding::After(..) => None,
        }
    }

    /// Returns whether the plan's cursor has a value that compares in the type of this parameter.
    pub(super) fn fits(&self, plan: &Plan) -> bool {
        let Binding::After(index, class, ty) = &self.0 else { return true };
        plan.cursor()
            .and_then(|after| after.get(*index))
            .is_some_and(|value| !has_nul(value) && class.value(value).map(|(_, ty)| ty) == ty.as_deref())
    }
}

/// Returns whether it is text with the character NUL, which the database cannot store.
pub(super) fn has_nul(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text.contains('\0'))
}

/// Adds a text that is read as a value of that type.
pub(super) fn text(params: &mut Params<Param>, text: String, ty: &str) -> Expr {
    typed(params.add(Param(Binding::Text(Some(text)))), ty)
}

/// Adds a part of the id of a point read.
pub(super) fn id(params: &mut Params<Param>, part: usize, class: &TypeClass) -> Expr {
    typed(params.add(Param(Binding::Id(part, class.clone()))), class.held_type())
}

/// Adds a value of the session.
pub(super) fn session(params: &mut Params<Param>, slot: usize, class: &TypeClass) -> Expr {
    typed(params.add(Param(Binding::Session(slot, class.clone()))), class.held_type())
}

/// Adds the cursor's value of that index, which is `value` in this page.
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
            Binding::Id(0, _) => f.write_str("the id"),
            Binding::Id(part, _) => write!(f, "part {part} of the id"),
            Binding::Session(slot, _) => write!(f, "the session's value {slot}"),
            Binding::After(index, ..) => write!(f, "the cursor's value {index}"),
        }
    }
}
