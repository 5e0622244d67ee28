//! How is a plan said in PostgreSQL's SQL? One statement, and so one round trip, however deep it nests.
//!
//! Each to-many relation is a level of its own: a common table expression with a row for each of its records,
//! which knows the number of its parent's row. To-one relations stand in the row of the record that leads to
//! them. What comes back are the rows of all levels, one level after the other, in columns that they share by
//! type; see [`Part`] for where everything stands.
//!
//! Measured against joins, of which siblings multiply, against records in arrays and against JSON made by the
//! database, this was the fastest for nested lists and no slower for any other read. It is also the only one
//! that bounds what the database works through: no level has more rows than a response may hold.

mod group;
mod keyset;
mod levels;
mod links;
mod operand;
mod predicate;
mod render;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::{Param, Statement};
use crate::plan::{ColumnSource, Plan};
use crate::{Target, Value};
use operand::Class;

/// What a database can do beyond what all of them can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// It has the collation `und-x-icu`, and its own would fold the letters of ASCII only.
    pub icu_folds: bool,
}

/// A plan as one statement, with all that is needed to take its rows apart.
#[derive(Clone, Debug, PartialEq)]
pub struct OneStatement {
    /// The statement, for those who read it.
    pub statement: Statement,
    /// What to bind, in the order of the placeholders. All of it is text, which the database reads as the types
    /// that the statement names.
    pub bound: Vec<Bound>,
    /// How many levels there are. Where there is more than one, each row begins with the number of its level,
    /// that of its parent's row and its own, both counted from 1 within their level.
    pub levels: usize,
    /// Where the root node's columns stand, and those of its joins.
    pub part: Part,
    /// Whether a value of the cursor stands in it that could not be left open.
    is_closed: bool,
}

/// Where one node's columns stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The level whose rows carry them. A to-one relation has that of its parent.
    pub level: usize,
    /// The place in a row of each of the node's columns; `None`: only the statement itself needs it.
    pub columns: Vec<Option<usize>>,
    /// A place that is NULL where a to-one relation leads to nothing.
    pub found: Option<usize>,
    /// The parts of its joins, in the plan's order.
    pub joins: Vec<Self>,
}

/// What a placeholder is filled with.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// This text.
    Text(String),
    /// The id of a point read; see [`Bound::text`].
    Id(Holder),
    /// A value of the session, by its slot; see [`Bound::text`].
    Session(usize, Holder),
    /// A value of the cursor, by its place; see [`Bound::text`].
    After(usize, Read),
}

/// Which values a column can hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder(Class);

/// How a value of a cursor compares with a column: in which type, or as text where the column can hold no such value.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    class: Class,
    ty: Option<String>,
}

impl Read {
    fn of(class: &Class, value: &Value) -> Self {
        Self { class: class.clone(), ty: class.value(value).map(|(_, ty)| ty.to_owned()) }
    }

    /// Whether another value compares in the same way.
    fn fits(&self, value: &Value) -> bool {
        let is_open = !matches!(value, Value::Text(text) if text.contains('\0'));
        is_open && self.class.value(value).map(|(_, ty)| ty) == self.ty.as_deref()
    }

    fn text(&self, value: &Value) -> Option<String> {
        match self.ty {
            Some(_) => self.class.value(value).map(|(text, _)| text),
            None => operand::text_of(value),
        }
    }
}

impl Bound {
    /// The text to bind in a run of the plan that the statement was made of. `None` is NULL: a value that the
    /// column can never hold, and so equals none.
    pub fn text<'p>(&'p self, plan: &Plan) -> Option<Cow<'p, str>> {
        match (self, &plan.target) {
            (Self::Text(text), _) => Some(text.into()),
            (Self::Id(Holder(class)), Target::Point(id)) => class.held(id).map(Into::into),
            (Self::Id(_), Target::Collection) => None,
            (Self::Session(slot, Holder(class)), _) => class.held(plan.session_value(*slot)).map(Into::into),
            (Self::After(place, read), _) => read.text(plan.after()?.get(*place)?).map(Into::into),
        }
    }
}

impl Plan {
    /// The plan as one statement in PostgreSQL's SQL, made when first asked for and kept with the plan: a plan
    /// is for one database. It is made once more for a cursor whose values compare in another way than those of
    /// the first one, which cursors of one column's values seldom do.
    pub fn one_statement(&self, features: Features) -> Cow<'_, OneStatement> {
        let kept = &self.query.one_statement;
        if kept.get().is_none() {
            let made = levels::lower(self, features);
            if made.is_closed {
                return Cow::Owned(made);
            }
            // Somebody else's may be there by now.
            let _ = kept.set(made);
        }
        match kept.get().filter(|statement| statement.fits(self)) {
            Some(statement) => Cow::Borrowed(statement),
            None => Cow::Owned(levels::lower(self, features)),
        }
    }
}

impl OneStatement {
    /// Whether it is also that of a page with other values in its cursor.
    fn fits(&self, plan: &Plan) -> bool {
        let value = |place: usize| plan.after().and_then(|after| after.get(place));
        self.bound.iter().all(|bound| match bound {
            Bound::After(place, read) => value(*place).is_some_and(|value| read.fits(value)),
            Bound::Text(_) | Bound::Id(_) | Bound::Session(..) => true,
        })
    }
}

/// What is bound to a statement in the making.
#[derive(Debug, Default)]
struct Params {
    features: Features,
    params: Vec<Param>,
    bound: Vec<Bound>,
    is_closed: bool,
}

impl Params {
    /// A placeholder for a text that is read as a value of that type.
    fn text(&mut self, value: Value, text: String, ty: &str) -> String {
        self.add(Param::Value(value), Bound::Text(text), ty)
    }

    /// The placeholder for the id of a point read.
    fn id(&mut self, class: &Class) -> String {
        self.add(Param::Id, Bound::Id(Holder(class.clone())), class.held_type())
    }

    /// The placeholder for a value of the session.
    fn session(&mut self, slot: usize, class: &Class) -> String {
        self.add(Param::Session(slot), Bound::Session(slot, Holder(class.clone())), class.held_type())
    }

    /// The placeholder for a value of the cursor, which this is one of.
    fn after(&mut self, place: usize, class: &Class, value: &Value) -> String {
        let read = Read::of(class, value);
        let ty = read.ty.clone();
        self.add(Param::After(place), Bound::After(place, read), ty.as_deref().unwrap_or("text"))
    }

    fn add(&mut self, param: Param, bound: Bound, ty: &str) -> String {
        self.params.push(param);
        self.bound.push(bound);
        let number = self.params.len();
        if ty.is_empty() { format!("${number}") } else { format!("${number}::{ty}") }
    }
}

/// An expression that stands for a value of a row.
#[derive(Clone, Debug)]
struct Operand {
    sql: String,
    class: Class,
}

impl Operand {
    /// The same as text.
    fn to_text(&self) -> Self {
        Self { sql: format!("{}::text", self.sql), class: Class::Text("text") }
    }

    /// The same in the form in which it is compared with a value that is known only when a statement runs.
    fn holder(&self) -> Self {
        if self.class.holds() { self.clone() } else { self.to_text() }
    }

    /// The same in a form that can be compared and ordered, as most types can by themselves.
    fn comparable(self) -> Self {
        if self.class.has_order() { self } else { self.to_text() }
    }
}

/// How values are called where an expression stands.
type Names<'a> = dyn Fn(&ColumnSource) -> Operand + 'a;

/// A value as PostgreSQL reads it from text; `None` is NULL, and what no text of it can hold.
pub fn postgres_text(value: &Value) -> Option<String> {
    operand::text_of(value)
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
