//! Lowering to MariaDB: one statement, and so one round trip, for a whole plan.
//!
//! Each to-many relation is a level: a common table expression with one row per record, which contains the number of its
//! parent's row. A to-one relation is joined into the rows of its parents if a key of the database allows only one record per
//! parent; otherwise it is a level too. MariaDB has no lateral joins. Therefore the rows of all parents are joined at once, and
//! window functions number the rows of each parent, so that a page can be limited. The statement returns the rows of all levels
//! in no particular order, in columns that levels share by type; [`crate::Layout`] has the positions of the columns.
//!
//! The database does not build JSON: that would require aggregation in an order, which neither database guarantees, and MariaDB
//! truncates the result at `group_concat_max_len`.

mod aggregate;
mod bucket;
mod charset;
mod dialect;
mod json;
mod levels;
mod search;
#[cfg(test)]
mod tests;
mod type_class;

pub use charset::BINARY_COLLATION;
pub use dialect::MySql;
use type_class::TypeClass;

/// A parameter that is bound to a placeholder.
pub type Param = crate::param::Param<TypeClass>;

/// The statement of a plan, with the layout that is needed to read its rows. The rows are in no particular order.
pub type ReadStatement = crate::layout::ReadStatement<Param>;

type Operand = crate::operand::Operand<TypeClass>;
