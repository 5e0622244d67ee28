//! Tables, and the links between parents and children.

use std::collections::HashMap;

use mesh_schema::{ColumnPair, Link, NativeType};
use sea_query::{Expr, ExprTrait as _, Query};

use super::class::Class;
use super::dialect::Dialect;
use super::operand::Operand;
use mesh_plan::Node;
use mesh_plan::plan::{ColumnSource, CompareOp, Join, Nesting};

/// The alias of a junction table.
pub(super) const JUNCTION: &str = "j";

/// Returns the columns that link a relation to the record of each parent, if a key of the database allows only one.
pub(super) fn key_of_one(join: &Join) -> Option<&[ColumnPair]> {
    match &join.link {
        Link::Direct { pairs } if join.nesting == Nesting::Record && join.is_unique => Some(pairs),
        _ => None,
    }
}

/// Returns the positions of those columns of a node that a direct link compares. They are never NULL if there is a record.
pub(super) fn linked_columns(node: &Node, pairs: &[ColumnPair]) -> impl Iterator<Item = usize> {
    let is_linked = |source: &ColumnSource| matches!(source, ColumnSource::Column(name) if pairs.iter().any(|pair| pair.target == *name));
    node.columns
        .iter()
        .enumerate()
        .filter(move |(_, column)| is_linked(&column.source))
        .map(|(index, _)| index)
}

/// Returns the storage type of a column of a node's table.
pub(super) fn native_type<'n>(node: &'n Node, source: &ColumnSource) -> Option<&'n NativeType> {
    match source {
        ColumnSource::Column(column) => node.native.get(column),
        _ => None,
    }
}

/// Returns the operand for a column of the table with this alias. `native` has the storage types of its columns.
pub(super) fn table_operand<C: Class>(
    native: &HashMap<String, NativeType>,
    alias: &str,
    source: &ColumnSource,
) -> Operand<C> {
    match source {
        ColumnSource::Column(column) => {
            Operand::of(Expr::col((alias.to_owned(), column.clone())), native.get(column))
        }
        ColumnSource::Relevance(_) => Operand::new(Expr::null(), C::of_relevance()),
        // The planner allows buckets and aggregates only in grouped reads. `super::related` lowers values of related records, and
        // `super::predicate` lowers values in JSON documents.
        ColumnSource::Bucket(_)
        | ColumnSource::Aggregate(_)
        | ColumnSource::Related { .. }
        | ColumnSource::Exists(_)
        | ColumnSource::Json { .. } => Operand::of(Expr::null(), None),
    }
}

/// Returns the condition that rows under an alias belong to one parent. `keys` are the parent's values that the link compares.
pub(super) fn linked<D: Dialect>(
    dialect: &D,
    parent: &Node,
    (link, target): (&Link, &Node),
    (alias, junction_alias): (&str, &str),
    keys: impl IntoIterator<Item = Expr>,
) -> Expr {
    let mut keys = keys.into_iter();
    let column = |name: &str| table_operand(&target.native, alias, &ColumnSource::Column(name.to_owned()));
    match link {
        Link::Direct { pairs } => (pairs.iter().zip(keys))
            .map(|(pair, key)| {
                dialect.equal(column(&pair.target), Operand::of(key, parent.native.get(&pair.parent)))
            })
            .reduce(Expr::and)
            .unwrap_or_else(|| Expr::Constant(true.into())),
        // With `IN` and a subquery, a child is returned once even if the junction contains the pair twice.
        Link::Through { table: junction, from, to, target: column_name, parent: id, .. } => {
            let cell = |column: &String| (junction_alias.to_owned(), column.clone());
            let (from, key) = (Expr::col(cell(from)), keys.next().unwrap_or_else(Expr::null));
            let mut pairs = Query::select();
            pairs
                .column(cell(to))
                .from_as(dialect.table(junction), junction_alias.to_owned())
                .and_where(dialect.compare_same_type(from, CompareOp::Eq, key, parent.native.get(id)));
            dialect.is_in_subquery(column(column_name).expr, pairs, target.native.get(column_name))
        }
    }
}
