//! Lowering to PostgreSQL: one statement, and so one round trip, for a whole plan.
//!
//! Each to-many relation is a level: a common table expression with a row for each record, which carries the number of
//! its parent's row. To-one relations are joined into the rows of their parents. The statement returns the rows of all
//! levels, one level after the other, in columns that levels share by type; [`Layout`] says where everything is.
//!
//! Compared with joins (which multiply siblings), arrays of records and JSON made by the database, this was the fastest
//! for nested lists and no slower for other reads. It also bounds the work of the database: no level has more rows than
//! a response may hold.

mod aggregate;
mod compare;
mod conversion;
mod datetime;
mod dialect;
mod json;
mod keyset;
mod layout;
mod levels;
mod links;
mod operand;
mod param;
mod render;
#[cfg(test)]
mod tests;
mod type_class;

use crate::mutation::{Mutation, Subject};
use crate::sql::custom;
use crate::sql::statement::Statement;
use crate::sql::write::{self, Step};
use crate::{Key, Value};
pub use conversion::{Conversion, conversions};
pub use dialect::Features;
pub use layout::{Layout, ReadStatement};
pub use param::Param;

/// Lowers a write.
pub fn write_steps(mutation: &Mutation, features: &Features) -> Vec<Step<Param>> {
    write::lower(mutation, dialect::Postgres { features, inputs: &[] })
}

/// The most parameters of a statement.
const PARAMS_MAX: usize = 65_535;

/// Lowers the first of several creations to one statement that returns their ids in this order. Returns it with their number.
/// `None` if the first two are not alike.
///
/// PostgreSQL returns the rows of `VALUES` in their order, since it inserts them one after the other.
pub fn create_many(mutations: &[Mutation], features: &Features) -> Option<(Statement<Param>, usize)> {
    let count = write::many::alike(mutations, PARAMS_MAX);
    let alike = mutations.get(..count).filter(|alike| alike.len() > 1)?;
    let statement = write::many::create(alike, dialect::Postgres { features, inputs: &[] })?;
    Some((statement, count))
}

/// Returns the statement that finds those of some new records that may be the result of their creation; `None` if all may.
pub fn permitted(subject: &Subject, ids: &[Key], features: &Features) -> Option<Statement<Param>> {
    write::many::permitted(subject, ids, dialect::Postgres { features, inputs: &[] })
}

/// Returns the statement that finds a record which may be written. With `locks` it also locks the record, for which PostgreSQL
/// requires the right to update it.
pub fn find(subject: &Subject, id: &Key, locks: bool, features: &Features) -> Statement<Param> {
    write::find::find(subject, id, locks, dialect::Postgres { features, inputs: &[] })
}

/// Returns a statement that lists the steps in which PostgreSQL would run another one.
pub fn explain(statement: &Statement<Param>) -> String {
    custom::explain("EXPLAIN", statement)
}

/// Returns a value as the text that PostgreSQL reads it from; `None` for NULL and for text that it cannot store.
pub fn text(value: &Value) -> Option<String> {
    type_class::text_of(value)
}
