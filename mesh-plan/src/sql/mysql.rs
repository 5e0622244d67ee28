//! Lowering to MySQL and MariaDB: one statement, and so one round trip, for a whole plan.
//!
//! Each to-many relation is a level: a common table expression with a row for each record, which carries the number of its
//! parent's row. To-one relations of which a key of the database allows one record are joined into the rows of their parents;
//! others are levels too. MariaDB has no lateral joins, so the rows of all parents are joined, and window functions number
//! those of each parent, which bounds a page. The statement returns the rows of all levels in no order, in columns that levels
//! share by type; [`Layout`] says where everything is.
//!
//! JSON made by the database would need aggregation in an order, which neither database guarantees, and is cut off at
//! `group_concat_max_len` in MariaDB.

mod aggregate;
mod compare;
mod dialect;
mod json;
mod keyset;
mod layout;
mod levels;
mod operand;
mod param;
mod render;
#[cfg(test)]
mod tests;
mod type_class;

use crate::Key;
use crate::mutation::{Mutation, Subject};
use crate::sql::custom;
use crate::sql::statement::Statement;
use crate::sql::write::{self, SetReference, Step};
pub use dialect::Product;
pub use layout::{Layout, ReadStatement};
pub use param::Param;

/// Lowers a write.
pub fn write_steps(mutation: &Mutation, product: Product) -> Vec<Step<Param>> {
    write::lower(mutation, dialect::MySql { product, inputs: &[] })
}

/// The most parameters of a statement.
const PARAMS_MAX: usize = 65_535;

/// Lowers the first of several creations to one statement that returns their ids in this order. Returns it with their number.
/// `None` if the first two are not alike, or the database returns no rows of an insertion.
pub fn create_many(mutations: &[Mutation], product: Product) -> Option<(Statement<Param>, usize)> {
    let count = write::many::alike(mutations, PARAMS_MAX);
    let alike = mutations.get(..count).filter(|alike| alike.len() > 1)?;
    let statement = write::many::create(alike, dialect::MySql { product, inputs: &[] })?;
    Some((statement, count))
}

/// Returns the statement that finds those of some new records that may be the result of their creation; `None` if all may.
pub fn permitted(subject: &Subject, ids: &[Key], product: Product) -> Option<Statement<Param>> {
    write::many::permitted(subject, ids, dialect::MySql { product, inputs: &[] })
}

/// Returns the foreign keys that a write sets.
pub fn references(mutation: &Mutation, product: Product) -> Vec<SetReference<Param>> {
    write::references(mutation, &dialect::MySql { product, inputs: &[] })
}

/// Returns the statement that finds a record which may be written, and locks it.
pub fn lock(subject: &Subject, id: &Key, product: Product) -> Statement<Param> {
    write::find::find(subject, id, true, dialect::MySql { product, inputs: &[] })
}

/// Returns a statement that lists the steps in which the database would run another one.
pub fn explain(statement: &Statement<Param>) -> String {
    custom::explain("EXPLAIN", statement)
}
