//! How is a relation's row tied to its parent's, and how many can there be?

use mesh_schema::Link;

use super::levels::{table, table_operand};
use super::operand::Class;
use super::{Operand, quoted};
use crate::plan::{ColumnSource, Join, Node};

/// The rows that belong to one parent. A junction is asked with `IN`, so that a pair that stands in it twice
/// gives its row once.
pub(super) fn linked(join: &Join, parent: &Node, alias: &str, keys: &[String]) -> String {
    let node = &join.node;
    match &join.link {
        Link::Direct { pairs } => {
            let parts: Vec<_> = (pairs.iter().zip(keys))
                .map(|(pair, key)| {
                    let target = table_operand(node, alias, &ColumnSource::Column(pair.target.clone()));
                    let key = Operand { sql: key.clone(), class: Class::of(parent.native.get(&pair.parent)) };
                    if target.class.compares_with(&key.class) {
                        format!("{} = {}", target.sql, key.sql)
                    } else {
                        format!("{} = {}", target.to_text().sql, key.to_text().sql)
                    }
                })
                .collect();
            if parts.is_empty() { "TRUE".to_owned() } else { parts.join(" AND ") }
        }
        Link::Through { table: junction, from, to, target, .. } => format!(
            "{} IN (SELECT \"j\".{} FROM {} AS \"j\" WHERE \"j\".{} = {})",
            table_operand(node, alias, &ColumnSource::Column(target.clone())).sql,
            quoted(to),
            table(junction),
            quoted(from),
            keys.first().map_or("NULL", String::as_str),
        ),
    }
}

/// Whether the database itself sees to it that there is no second row.
pub(super) fn leads_to_one(join: &Join) -> bool {
    let unique = |column: &String| join.node.native.get(column).is_some_and(|native| native.unique);
    matches!(&join.link, Link::Direct { pairs } if pairs.iter().any(|pair| unique(&pair.target)))
}

/// Whether the database itself sees to it that one record at most has the id of a point read.
pub(super) fn has_unique_id(node: &Node) -> bool {
    let Some(ColumnSource::Column(id)) = node.id.as_ref().map(|id| &id.source) else { return false };
    node.native.get(id).is_some_and(|native| native.unique && Class::of(Some(native)).holds())
}

/// What is never NULL where a to-one relation leads to a row, and its class. A number that the link compares costs
/// the database less than a constant, which it has to keep apart from a row that is not there.
pub(super) fn mark(join: &Join, alias: &str) -> (String, Class) {
    let number = match &join.link {
        Link::Direct { pairs } => {
            let compared = pairs.iter().map(|pair| ColumnSource::Column(pair.target.clone()));
            let mut compared = compared.map(|source| table_operand(&join.node, alias, &source));
            compared.find(|operand| matches!(operand.class, Class::Integer(_)))
        }
        Link::Through { .. } => None,
    };
    number.map_or_else(|| ("TRUE".to_owned(), Class::Boolean), |number| (number.sql, number.class))
}

/// Whether all that links a relation to its parent is the parent's id.
pub(super) fn links_id(join: &Join, parent: &Node) -> bool {
    let id = parent.id.as_ref().map(|id| &id.source);
    let mut keys = join.parent_keys.iter().map(|key| parent.columns.get(*key).map(|column| &column.source));
    join.parent_keys.len() == 1 && keys.all(|key| key.is_some() && key == id)
}
