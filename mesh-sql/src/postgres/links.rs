//! Properties of relations and point reads, such as whether they have at most one row.

use mesh_schema::Link;
use sea_query::Expr;

use super::Operand;
use super::type_class::TypeClass;
use crate::class::Class as _;
use mesh_plan::{Column, ColumnSource, Join, Node};

/// Returns whether the database itself ensures that a relation has at most one row for each parent.
pub(super) fn leads_to_one(join: &Join) -> bool {
    let unique = |column: &String| join.node.native.get(column).is_some_and(|native| native.unique);
    matches!(&join.link, Link::Direct { pairs } if pairs.iter().any(|pair| unique(&pair.target)))
}

/// Returns whether the database itself ensures that at most one record has the id of a point read.
pub(super) fn has_unique_id(node: &Node) -> bool {
    let is_unique = |id: &Column| {
        match &id.source {
            ColumnSource::Column(column) => node.native.get(column),
            _ => None,
        }
        .is_some_and(|native| native.unique && TypeClass::new(Some(native)).is_bindable())
    };
    node.id.iter().any(is_unique)
}

/// Returns an expression that is never NULL if a to-one relation has a record. A number that the link compares costs the
/// database less than a constant, which it must distinguish from an absent row.
pub(super) fn presence(join: &Join, alias: &str) -> Operand {
    let number = match &join.link {
        Link::Direct { pairs } => pairs.iter().find_map(|pair| {
            let class = TypeClass::new(join.node.native.get(&pair.target));
            let expr = Expr::col((alias.to_owned(), pair.target.clone()));
            matches!(class, TypeClass::Integer(_)).then(|| Operand::new(expr, class))
        }),
        Link::Through { .. } => None,
    };
    number.unwrap_or_else(|| Operand::new(Expr::Constant(true.into()), TypeClass::Boolean))
}

/// Returns whether the link of a relation compares only the parent's id, and this id has one column.
pub(super) fn links_id(join: &Join, parent: &Node) -> bool {
    let [id] = parent.id.as_slice() else { return false };
    let id = Some(&id.source);
    let mut keys = join.parent_keys.iter().map(|key| parent.columns.get(*key).map(|column| &column.source));
    join.parent_keys.len() == 1 && keys.all(|key| key.is_some() && key == id)
}
