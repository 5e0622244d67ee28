//! Lowering to MariaDB: one statement, and so one round trip, for a whole plan.
//!
//! Each to-many relation is a level: a common table expression with one row per record, which contains the number of its
//! parent's row. A to-one relation is joined into the rows of its parents if a key of the database allows only one record per
//! parent; otherwise it is a level too. MariaDB has no lateral joins. Therefore the rows of all parents are joined at once, and
//! window functions number the rows of each parent, so that a page can be limited. The statement returns the rows of all levels
//! in no particular order, in columns that levels share by type; [`Layout`] has the positions of the columns.
//!
//! The database does not build JSON: that would require aggregation in an order, which neither database guarantees, and MariaDB
//! truncates the result at `group_concat_max_len`.

mod aggregate;
mod dialect;
mod json;
mod levels;
#[cfg(test)]
mod tests;
mod type_class;

use mesh_plan::Key;
use mesh_schema::Schema;
use type_class::TypeClass;

use crate::custom;
pub use crate::layout::Layout;
use crate::statement::Statement;
use crate::write::{self, SetReference, Step, WriteProbe};
pub use dialect::BINARY_COLLATION;
use mesh_plan::Mutation;
use mesh_plan::mutation::GuardedEntity;

/// A parameter that is bound to a placeholder.
pub type Param = crate::param::Param<TypeClass>;

/// The statement of a plan, with the layout that is needed to read its rows. The rows are in no particular order.
pub type ReadStatement = crate::layout::ReadStatement<Param>;

type Operand = crate::operand::Operand<TypeClass>;

/// Lowers a write.
pub fn write_steps(mutation: &Mutation) -> Vec<Step<Param>> {
    write::lower(mutation, dialect::MySql { inputs: &[] })
}

/// The maximum number of parameters of a statement.
const PARAMS_MAX: usize = 65_535;

/// Lowers the leading creations that are alike to one statement that returns their ids in the same order. Returns the statement
/// and the number of these creations. `None` if the first two are not alike, or if the database cannot return rows from an
/// insertion.
pub fn create_many(mutations: &[Mutation]) -> Option<(Statement<Param>, usize)> {
    let count = write::many::count_alike(mutations, PARAMS_MAX);
    let alike = mutations.get(..count).filter(|alike| alike.len() > 1)?;
    let statement = write::many::create(alike, dialect::MySql { inputs: &[] })?;
    Some((statement, count))
}

/// Returns the statement that finds those of the new records with these `ids` that policies permit; `None` if all are
/// permitted.
pub fn permitted(subject: &GuardedEntity, ids: &[Key]) -> Option<Statement<Param>> {
    write::many::permitted(subject, ids, dialect::MySql { inputs: &[] })
}

/// Returns the foreign keys that a write sets.
pub fn references(mutation: &Mutation) -> Vec<SetReference<Param>> {
    write::references(mutation, &dialect::MySql { inputs: &[] })
}

/// Returns the statement that finds a record if it may be written, and locks it.
pub fn lock(subject: &GuardedEntity, id: &Key) -> Statement<Param> {
    write::find::find(subject, id, true, dialect::MySql { inputs: &[] })
}

/// Returns statements that show which writes the database would refuse.
pub fn write_probes(schema: &Schema) -> Vec<WriteProbe> {
    write::probe::probes(schema, dialect::MySql { inputs: &[] })
}

/// Returns the statement that lists the steps in which the database would run `statement`.
pub fn explain(statement: &Statement<Param>) -> String {
    custom::explain("EXPLAIN", statement)
}
