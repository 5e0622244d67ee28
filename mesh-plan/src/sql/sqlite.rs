//! Lowering to SQLite: one statement for each node of a plan.
//!
//! The statement of a nested node takes the key of its parent as a parameter and runs once per parent. So its limit
//! applies per parent, and rows are not multiplied by joins. In SQLite a prepared statement costs about a microsecond
//! and no round trip.

mod custom;
mod dialect;
pub mod functions;
mod group;
mod keyset;
mod param;
mod predicate;
mod prefix;
mod select;
mod statements;
#[cfg(test)]
mod tests;

use crate::mutation::Mutation;
use crate::sql::write::{self, Step};
pub use param::Param;
pub use statements::Statements;

/// Lowers a write.
pub fn write_steps(mutation: &Mutation) -> Vec<Step<Param>> {
    write::lower(mutation, dialect::Sqlite)
}
