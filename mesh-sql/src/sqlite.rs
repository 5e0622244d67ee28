//! Lowering to SQLite: one statement for each node of a plan.
//!
//! The statement of a nested node takes the key of its parent as a parameter and runs once per parent. Its limit therefore
//! applies per parent, and joins do not multiply rows. In SQLite a prepared statement costs about a microsecond and no round
//! trip.

mod class;
mod dialect;
mod keyset;
mod list;
mod statements;
#[cfg(test)]
mod tests;

use mesh_schema::Schema;

use crate::custom;
use crate::statement::Statement;
use crate::write::{self, SetReference, Step, WriteProbe};
use dialect::Sqlite;
pub use list::element;
use mesh_plan::Mutation;
use mesh_plan::mutation::GuardedEntity;
use mesh_plan::{Key, Value};
pub use statements::{NodeRows, Statements};

/// A parameter that is bound to a placeholder.
pub type Param = crate::param::Param<class::Mixed>;

impl Param {
    /// Returns the value to bind in a write whose earlier steps have returned this id; `None` if there is none.
    pub fn for_write<'p>(&'p self, id: &'p [Value]) -> Option<&'p Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Id(part, _) | Self::WrittenId(part, _) => id.get(*part),
            _ => None,
        }
    }
}

type Operand = crate::operand::Operand<class::Mixed>;

/// Names of the functions that a back end must register. The names have a prefix, so that the views of a database keep using
/// the built-in functions.
pub mod functions {
    /// `(text, pattern)`: whether the text matches a [`mesh_plan::backend::Pattern`], case-sensitively.
    pub const LIKE: &str = "mesh_like";
    /// `(text, pattern)`: whether the text matches a [`mesh_plan::backend::Pattern`], ignoring letter case.
    pub const ILIKE: &str = "mesh_ilike";
    /// `(document, pointer, type)`: the scalar that [`mesh_plan::backend::JsonPointer::find`] finds.
    pub const JSON: &str = "mesh_json";
    /// `(value, type)`: the form of a value that is the same for all values with the same meaning ([`mesh_plan::backend::canonical`]). The
    /// type is the name of a field type.
    pub const VALUE: &str = "mesh_value";
    /// `(element)`: the value of an element in a list ([`super::element`]).
    pub const ELEMENT: &str = "mesh_element";
    /// Aggregate `(value)`: the sum, which overflows only if the total does.
    pub const SUM: &str = "mesh_sum";
}

/// Lowers a write. `counts_updated` is whether SQLite counts the rows that an `UPDATE` of the written entity changes: it does
/// for tables, but not for views. If it does, an update that keeps the id has no `RETURNING` clause. SQLite would fill a
/// temporary table for the clause, which is a quarter of its work for an update.
pub fn write_steps(mutation: &Mutation, counts_updated: bool) -> Vec<Step<Param>> {
    let mut steps = write::lower(mutation, Sqlite { counts_updated });
    steps.iter_mut().for_each(|step| abort_conflicts(&mut step.statement.sql, mutation));
    steps
}

/// Makes a statement fail if it violates a rule. Otherwise a table may replace records that policies hide from the writer. Other
/// tables need no clause, which would also apply to the statements of their triggers.
fn abort_conflicts(sql: &mut String, mutation: &Mutation) {
    let subjects = [Some(mutation.subject()), mutation.action().other().map(|other| &other.subject)];
    if subjects.into_iter().flatten().any(|subject| subject.entity().resolves_conflicts) {
        for command in ["INSERT", "UPDATE"] {
            if sql.starts_with(command) {
                sql.insert_str(command.len(), " OR ABORT");
            }
        }
    }
}

/// Returns the foreign keys that a write sets.
pub fn references(mutation: &Mutation) -> Vec<SetReference<Param>> {
    write::references(mutation, &Sqlite::PLAIN)
}

/// The maximum number of parameters of a statement that creates several records. Connections cache these statements, and many
/// parameters would make their texts large. SQLite's own limit is 32,766.
const PARAMS_MAX: usize = 1_024;
/// The maximum number of records that one statement creates. Beyond it, the cost per record hardly decreases.
const ROWS_MAX: usize = 64;

/// Lowers leading creations that are alike to one statement that returns their ids in the same order: SQLite collects the rows
/// that a statement returns, and returns them after it has inserted all of them. Returns the statement and the number of these
/// creations, a power of two, so that lists of all lengths need only a few different statements. `None` if the first two are not
/// alike.
pub fn create_many(mutations: &[Mutation]) -> Option<(Statement<Param>, usize)> {
    let first = mutations.first()?;
    let columns = first.action().values().len().max(1);
    let count_max = (PARAMS_MAX / columns).clamp(1, ROWS_MAX);
    let alike = write::many::count_alike(mutations, count_max.saturating_mul(columns));
    let count = 1 << alike.checked_ilog2()?;
    let run = mutations.get(..count).filter(|run| run.len() > 1)?;
    let mut statement = write::many::create(run, Sqlite::PLAIN)?;
    abort_conflicts(&mut statement.sql, first);
    Some((statement, count))
}

/// Returns the statement that finds those of the new records with these `ids` that policies permit; `None` if all are
/// permitted.
pub fn permitted(subject: &GuardedEntity, ids: &[Key]) -> Option<Statement<Param>> {
    write::many::permitted(subject, ids, Sqlite::PLAIN)
}

/// Returns the statement that finds a record if it may be written. The record needs no lock, because the transaction keeps
/// others from writing.
pub fn find(subject: &GuardedEntity, id: &Key) -> Statement<Param> {
    write::find::find(subject, id, false, Sqlite::PLAIN)
}

/// Returns the statement that finds the record or the pair of a junction that a write changes or deletes; `None` if it does
/// neither.
pub fn find_written(mutation: &Mutation) -> Option<Statement<Param>> {
    write::find::find_written(mutation, Sqlite::PLAIN)
}

/// Returns statements that show which writes the database would refuse.
pub fn write_probes(schema: &Schema) -> Vec<WriteProbe> {
    write::probe::probes(schema, Sqlite::PLAIN)
}

/// Returns the statement that lists the steps in which SQLite would run `statement`.
pub fn explain(statement: &Statement<Param>) -> String {
    custom::explain("EXPLAIN QUERY PLAN", statement)
}
