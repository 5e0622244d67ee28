//! Lowering to PostgreSQL: one statement, and so one round trip, for a whole plan.
//!
//! Each to-many relation is a level: a common table expression with one row per record, which contains the number of its
//! parent's row. To-one relations are joined into the rows of their parents. The statement returns the rows of all levels, one
//! level after the other, in columns that levels share by type; [`Layout`] has the positions of the columns.
//!
//! In comparison with joins (which multiply siblings), arrays of records and JSON built by the database, this form was the
//! fastest for nested lists and no slower for other reads. It also bounds the work of the database: no level has more rows than
//! a response may contain.

mod aggregate;
mod batch;
mod charset;
mod compare;
mod conversion;
mod datetime;
mod dialect;
mod json;
mod levels;
#[cfg(test)]
mod tests;
mod type_class;

use mesh_schema::Schema;
use std::borrow::Cow;
use type_class::TypeClass;

pub use crate::layout::Layout;
use crate::statement::Statement;
use crate::write::{self, Step, WriteProbe};
use crate::{class, custom};
pub use charset::Charset;
pub use conversion::{Conversion, conversions};
pub use dialect::Features;
use mesh_plan::mutation::Subject;
use mesh_plan::{Key, Value};
use mesh_plan::{Mutation, Plan};
pub use type_class::array;

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

/// Lowers a write.
pub fn write_steps(mutation: &Mutation, features: &Features) -> Vec<Step<Param>> {
    write::lower(mutation, dialect::Postgres { features, inputs: &[] })
}

/// The maximum number of parameters of a statement.
const PARAMS_MAX: usize = 65_535;

/// Lowers the leading creations that are alike to one statement that returns their ids in the same order. Returns the statement
/// and the number of these creations. `None` if the first two are not alike.
///
/// PostgreSQL returns the rows of `VALUES` in their order, since it inserts them one after the other.
pub fn create_many(mutations: &[Mutation], features: &Features) -> Option<(Statement<Param>, usize)> {
    let count = write::many::count_alike(mutations, PARAMS_MAX);
    let alike = mutations.get(..count).filter(|alike| alike.len() > 1)?;
    let statement = write::many::create(alike, dialect::Postgres { features, inputs: &[] })?;
    Some((statement, count))
}

/// Returns the statement that finds those of the new records with these `ids` that policies permit; `None` if all are
/// permitted.
pub fn permitted(subject: &Subject, ids: &[Key], features: &Features) -> Option<Statement<Param>> {
    write::many::permitted(subject, ids, dialect::Postgres { features, inputs: &[] })
}

/// Returns the statement that finds a record if it may be written. With `locks`, it also locks the record, which requires the
/// privilege to update it.
pub fn find(subject: &Subject, id: &Key, locks: bool, features: &Features) -> Statement<Param> {
    write::find::find(subject, id, locks, dialect::Postgres { features, inputs: &[] })
}

/// Returns the statement that finds the record or the pair of a junction that a write changes or deletes; `None` if it does
/// neither.
pub fn find_written(mutation: &Mutation, features: &Features) -> Option<Statement<Param>> {
    write::find::find_written(mutation, dialect::Postgres { features, inputs: &[] })
}

/// Returns statements that show which writes the database would refuse.
pub fn write_probes(schema: &Schema, features: &Features) -> Vec<WriteProbe> {
    write::probe::probes(schema, dialect::Postgres { features, inputs: &[] })
}

/// Returns the statement that lists the steps in which PostgreSQL would run `statement`.
pub fn explain(statement: &Statement<Param>) -> String {
    custom::explain("EXPLAIN", statement)
}

/// Returns a value in PostgreSQL's text format; `None` for NULL and for text that PostgreSQL cannot store.
pub fn text(value: &Value) -> Option<String> {
    type_class::value_text(value)
}
