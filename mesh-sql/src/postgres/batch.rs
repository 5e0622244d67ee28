//! One statement for several point reads of a plan.

use sea_query::{Asterisk, Expr, Func, JoinType, PostgresQueryBuilder, Query};

use super::Param;
use super::ReadStatement;
use super::dialect::{Features, Postgres};
use super::levels::Lowering;
use crate::param;
use crate::related::typed_placeholder;
use crate::render;
use crate::statement::Statement;
use mesh_plan::{Plan, Target};

/// The alias of the reads: a row for each, with its id and its number.
pub(super) const READS: &str = "b";
/// The alias of the records.
const RECORD: &str = "r";
/// The column with the number of a read.
const NUMBER: &str = "n";

impl ReadStatement {
    /// Returns a statement for several runs of this point read, which differ only in the id. `None` if the read has to-many
    /// relations, or cannot name the type of the id.
    ///
    /// The first parameters are arrays of the parts of the ids ([`array`](super::array)). The others are those of the single
    /// statement that are not parts of the id, in the same order. A row is a row of the single statement, followed by the number of its read as
    /// `int4`; the first read has the number 1.
    pub fn batch(&self, plan: &Plan, features: &Features) -> Option<Statement<Param>> {
        let node = plan.node();
        if self.levels > 1 || self.depends_on_values || !matches!(plan.target(), Target::Point(_)) {
            return None;
        }
        let mut lowering = Lowering::of_root(plan, Postgres { features, inputs: plan.inputs() }, id);
        let (mut arrays, mut reads) = (Query::select(), Query::select());
        for (part, id) in node.id.iter().enumerate() {
            let class = typed_placeholder(&lowering.dialect, node, &id.source).class;
            arrays.expr_as(param::ids(&mut lowering.params, part, &class)?, name(part));
            reads.expr_as(Func::cust("pg_catalog.unnest").arg(Expr::col(name(part))), name(part));
        }
        let subscripts = Func::cust("pg_catalog.generate_subscripts").args([Expr::col(name(0)), 1.into()]);
        reads.expr_as(subscripts, NUMBER).from_subquery(arrays, "a");
        let mut record = render::select_of::<Postgres<'_>>(lowering.levels.first_mut()?);
        // The limit keeps the database from merging the subquery into the join, so it is planned like the single statement.
        record.limit(1);
        let mut batch = Query::select();
        batch.column((RECORD, Asterisk)).column((READS, NUMBER)).from_subquery(reads, READS);
        batch.join_lateral(JoinType::InnerJoin, record, RECORD, Expr::Constant(true.into()));
        Some(lowering.params.render(&batch, PostgresQueryBuilder))
    }
}

/// Returns a part of the id of a read.
pub(super) fn id(part: usize) -> Expr {
    Expr::col((READS, name(part)))
}

/// Returns the name of the column with a part of the id.
fn name(part: usize) -> String {
    format!("k{part}")
}
