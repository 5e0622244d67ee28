//! Lowering to SQLite: one statement for each node of a plan.
//!
//! The statement of a nested node takes the key of its parent as a parameter and runs once per parent. So its limit
//! applies per parent, and rows are not multiplied by joins. In SQLite a prepared statement costs about a microsecond
//! and no round trip.

mod dialect;
mod keyset;
mod param;
mod prefix;
mod statements;
#[cfg(test)]
mod tests;

use crate::Key;
use crate::mutation::{Mutation, Subject};
use crate::sql::custom;
use crate::sql::statement::Statement;
use crate::sql::write::{self, SetReference, Step};
pub use dialect::Probe;
pub use param::Param;
pub(crate) use prefix::has_beginning;
pub use statements::{NodeRows, Statements};

/// Names of the functions that a back end must register. They have a prefix, so that the views of a database keep
/// the built-in functions.
pub mod functions {
    /// `(text, pattern)`: whether the text matches a [`crate::Pattern`], case-sensitively.
    pub const LIKE: &str = "mesh_like";
    /// `(text, pattern)`: whether the text matches a [`crate::Pattern`], ignoring letter case.
    pub const ILIKE: &str = "mesh_ilike";
    /// `(document, pointer, type)`: the scalar that [`crate::JsonPointer::find`] finds.
    pub const JSON: &str = "mesh_json";
    /// Aggregate `(value)`: the sum, which overflows only if the total does.
    pub const SUM: &str = "mesh_sum";
}

/// Lowers a write.
pub fn write_steps(mutation: &Mutation) -> Vec<Step<Param>> {
    write::lower(mutation, dialect::Sqlite { probe: &() })
}

/// Returns the foreign keys that a write sets.
pub fn references(mutation: &Mutation) -> Vec<SetReference<Param>> {
    write::references(mutation, &dialect::Sqlite { probe: &() })
}

/// Lowers the first of several creations to one statement that is run for each of them, and the parameters of each run. `None`
/// if the first two are not alike, or need further checks.
pub fn create_each(mutations: &[Mutation]) -> Option<(String, Vec<Vec<Param>>)> {
    let count = write::many::alike(mutations, usize::MAX);
    let alike = mutations.get(..count).filter(|alike| alike.len() > 1)?;
    let dialect = dialect::Sqlite { probe: &() };
    let statement = write::many::create(alike.get(..1)?, dialect)?;
    Some((statement.sql, alike.iter().map(|mutation| write::many::params(mutation, &dialect)).collect()))
}

/// Returns the statement that finds a record which may be written. Its transaction keeps others from writing.
pub fn find(subject: &Subject, id: &Key) -> Statement<Param> {
    write::find::find(subject, id, false, dialect::Sqlite { probe: &() })
}

/// Returns a statement that lists the steps in which SQLite would run another one.
pub fn explain(statement: &Statement<Param>) -> String {
    custom::explain("EXPLAIN QUERY PLAN", statement)
}
