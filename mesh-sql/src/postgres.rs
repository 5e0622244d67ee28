//! Lowering to PostgreSQL: one statement, and so one round trip, for a whole plan.
//!
//! Each to-many relation is a level: a common table expression with one row per record, which contains the number of its
//! parent's row. To-one relations are joined into the rows of their parents. The statement returns the rows of all levels, one
//! level after the other, in columns that levels share by type; [`crate::Layout`] has the positions of the columns.
//!
//! In comparison with joins (which multiply siblings), arrays of records and JSON built by the database, this form was the
//! fastest for nested lists and no slower for other reads. It also bounds the work of the database: no level has more rows than
//! a response may contain.

mod aggregate;
mod batch;
mod bucket;
mod charset;
mod compare;
mod conversion;
mod datetime;
mod dialect;
mod json;
mod levels;
mod search;
#[cfg(test)]
mod tests;
mod type_class;

use std::borrow::Cow;

pub use charset::Charset;
pub use conversion::{Conversion, conversions};
pub use dialect::Postgres;
use mesh_plan::{Plan, Value};
use type_class::TypeClass;
pub use type_class::array;

use crate::class;

/// A parameter that is bound to a placeholder.
pub type Param = crate::param::Param<TypeClass>;

/// The statement of a plan, with the layout that is needed to read its rows. All parameters are bound as text.
pub type ReadStatement = crate::layout::ReadStatement<Param>;

type Operand = crate::operand::Operand<TypeClass>;

impl Param {
    /// Returns the text to bind in a run of the plan. `None` is NULL. A value that the column can never contain is NULL too,
    /// because NULL equals no value.
    pub fn for_read<'p>(&'p self, plan: &'p Plan) -> Option<Cow<'p, str>> {
        as_text(self.value_for_read(plan))
    }

    /// Returns the text to bind in a write whose earlier steps have returned this id.
    pub fn for_write<'p>(&'p self, id: &'p [Value]) -> Option<Cow<'p, str>> {
        as_text(self.value_for_write(id))
    }
}

fn as_text(value: Cow<'_, Value>) -> Option<Cow<'_, str>> {
    match value {
        Cow::Borrowed(Value::Text(text)) => Some(Cow::Borrowed(text)),
        Cow::Owned(Value::Text(text)) => Some(Cow::Owned(text)),
        value => class::value_text(&value).map(Cow::Owned),
    }
}

/// Returns a value in PostgreSQL's text format; `None` for NULL and for text that PostgreSQL cannot store.
pub fn text(value: &Value) -> Option<String> {
    type_class::value_text(value)
}
