//! How the rows of a relation are tied to their parents, and how many there can be.

use mesh_schema::Link;
use sea_query::{Expr, ExprTrait as _};

use super::class::Class;
use super::operand::{Operand, table_operand};
use crate::plan::{ColumnSource, Join, Node};
use crate::sql::links::Junction;

/// Returns the condition on the rows that belong to one parent.
pub(super) fn linked(join: &Join, parent: &Node, alias: &str, keys: &[Expr]) -> Expr {
    let column = |name: &str| table_operand(&join.node, alias, &ColumnSource::Column(name.to_owned()));
    match &join.link {
        Link::Direct { pairs } => (pairs.iter().zip(keys))
            .map(|(pair, key)| {
                let target = column(&pair.target);
                let key = Operand { expr: key.clone(), class: Class::new(parent.native.get(&pair.parent)) };
                if target.class.compares_with(&key.class) {
                    target.expr.eq(key.expr)
                } else {
                    target.to_text().expr.eq(key.to_text().expr)
                }
            })
            .reduce(Expr::and)
            .unwrap_or_else(|| Expr::Constant(true.into())),
        Link::Through { table, from, to, target, .. } => {
            let parent = keys.first().cloned().unwrap_or_else(Expr::null);
            Junction { table, from, to }.links(column(target).expr, parent)
        }
    }
}

/// Returns whether the database itself ensures that there is no second row.
pub(super) fn leads_to_one(join: &Join) -> bool {
    let unique = |column: &String| join.node.native.get(column).is_some_and(|native| native.unique);
    matches!(&join.link, Link::Direct { pairs } if pairs.iter().any(|pair| unique(&pair.target)))
}

/// Returns whether the database itself ensures that at most one record has the id of a point read.
pub(super) fn has_unique_id(node: &Node) -> bool {
    let Some(ColumnSource::Column(id)) = node.id.as_ref().map(|id| &id.source) else { return false };
    node.native.get(id).is_some_and(|native| native.unique && Class::new(Some(native)).holds())
}

/// Returns an expression that is never NULL if a to-one relation has a record. A number that the link compares costs
/// the database less than a constant, which it has to keep apart from a row that is absent.
pub(super) fn presence(join: &Join, alias: &str) -> Operand {
    let number = match &join.link {
        Link::Direct { pairs } => {
            let compared = pairs.iter().map(|pair| ColumnSource::Column(pair.target.clone()));
            let mut compared = compared.map(|source| table_operand(&join.node, alias, &source));
            compared.find(|operand| matches!(operand.class, Class::Integer(_)))
        }
        Link::Through { .. } => None,
    };
    number.unwrap_or_else(|| Operand { expr: Expr::Constant(true.into()), class: Class::Boolean })
}

/// Returns whether the parent's id is all that links a relation to it.
pub(super) fn links_id(join: &Join, parent: &Node) -> bool {
    let id = parent.id.as_ref().map(|id| &id.source);
    let mut keys = join.parent_keys.iter().map(|key| parent.columns.get(*key).map(|column| &column.source));
    join.parent_keys.len() == 1 && keys.all(|key| key.is_some() && key == id)
}
