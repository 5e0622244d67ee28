//! Tables and the junctions between them.

use mesh_schema::TableName;
use sea_query::{Expr, ExprTrait as _, Query, TableRef};

/// The alias of a junction table.
pub(super) const JUNCTION: &str = "j";

/// Returns the reference to a table.
pub(super) fn table(name: &TableName) -> TableRef {
    match &name.schema {
        Some(schema) => (schema.clone(), name.name.clone()).into(),
        None => name.name.clone().into(),
    }
}

/// The columns of a junction that link a parent to its children.
pub(super) struct Junction<'a> {
    pub(super) table: &'a TableName,
    /// Holds the key of the parent.
    pub(super) from: &'a str,
    /// Holds the key of the child.
    pub(super) to: &'a str,
}

impl Junction<'_> {
    /// Returns whether the junction links a child's key to a parent's. A subquery with `IN` returns a child once, even
    /// if the junction holds the pair twice.
    pub(super) fn links(&self, child: Expr, parent: Expr) -> Expr {
        let mut pairs = Query::select();
        pairs
            .column((JUNCTION, self.to.to_owned()))
            .from_as(table(self.table), JUNCTION)
            .and_where(Expr::col((JUNCTION, self.from.to_owned())).eq(parent));
        child.in_subquery(pairs)
    }
}
