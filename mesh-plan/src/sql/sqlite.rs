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
mod write_form;

use crate::Key;
use crate::mutation::{Mutation, Subject};
use crate::sql::custom;
use crate::sql::statement::Statement;
use crate::sql::write::{self, SetReference, Step};
pub use dialect::Probe;
use dialect::Sqlite;
pub use param::Param;
pub(crate) use prefix::has_beginning;
pub use statements::{NodeRows, Statements};
pub use write_form::WriteForm;

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

/// Lowers a write. `counts_updated` says whether SQLite counts the rows that an `UPDATE` of the written entity changes: it does for
/// tables, but not for views. An update of a table that keeps the id then has no `RETURNING`, for which SQLite fills a temporary
/// table, a quarter of its work for an update.
pub fn write_steps(mutation: &Mutation, counts_updated: bool) -> Vec<Step<Param>> {
    write::lower(mutation, Sqlite { counts_updated, ..Sqlite::PLAIN })
}

/// Returns the foreign keys that a write sets.
pub fn references(mutation: &Mutation) -> Vec<SetReference<Param>> {
    write::references(mutation, &Sqlite::PLAIN)
}

/// The most parameters of a statement that creates several records. Connections cache such statements, which a text of many
/// parameters would make large. SQLite has a bound of 32,766.
const PARAMS_MAX: usize = 1_024;
/// The most records that one statement creates. With more of them, the share of a record in what a statement costs hardly sinks.
const ROWS_MAX: usize = 64;

/// Returns the runs of the first of several creations that [`create_many`] can be used for: those that are alike. None if the
/// first two are not. Their lengths are powers of two, so that lists of all lengths have few statements.
pub fn runs_alike(mutations: &[Mutation]) -> impl Iterator<Item = &[Mutation]> {
    let count = write::many::alike(mutations, usize::MAX);
    let mut left = mutations.get(..count).filter(|alike| alike.len() > 1).unwrap_or_default();
    let columns = left.first().map_or(1, |first| first.action().values().len());
    let most = (PARAMS_MAX / columns.max(1)).clamp(1, ROWS_MAX);
    std::iter::from_fn(move || {
        let length = 1 << left.len().min(most).checked_ilog2()?;
        let (run, rest) = left.split_at_checked(length)?;
        left = rest;
        Some(run)
    })
}

/// Returns the text of the statement that creates the records of a run of [`runs_alike`], and others that are as many and alike.
/// Its parameters are their values. It returns their ids in this order: SQLite collects the rows that a statement returns, and
/// returns them when it has inserted all.
pub fn create_many(run: &[Mutation]) -> Option<String> {
    let statement = write::many::create(run, Sqlite::PLAIN)?;
    Some(statement.sql)
}

/// Returns the statement that finds those of some new records that may be the result of their creation; `None` if all may.
pub fn permitted(subject: &Subject, ids: &[Key]) -> Option<Statement<Param>> {
    write::many::permitted(subject, ids, Sqlite::PLAIN)
}

/// Returns the statement that finds a record which may be written. Its transaction keeps others from writing.
pub fn find(subject: &Subject, id: &Key) -> Statement<Param> {
    write::find::find(subject, id, false, Sqlite::PLAIN)
}

/// Returns a statement that lists the steps in which SQLite would run another one.
pub fn explain(statement: &Statement<Param>) -> String {
    custom::explain("EXPLAIN QUERY PLAN", statement)
}
