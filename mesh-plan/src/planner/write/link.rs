//! The columns that store the link of two records.

use mesh_schema::{Cardinality, ColumnPair, Entity, Link, Relation};

use crate::mutation::{KeyColumns, LinkKey};

/// Finds the columns that store a relation's link.
///
/// In a to-many relation the target refers to the parent. In a to-one relation the link is on the side whose column is
/// compared with the id of the other; if neither id takes part, on the side whose column is named after the other's,
/// as `user_uuid` is after `uuid`.
pub(super) fn stored_key(parent: &Entity, relation: &Relation, target: &Entity) -> LinkKey {
    let pairs = match &relation.link {
        Link::Direct { pairs } => pairs,
        Link::Through { table, from, to, parent, target } => {
            return LinkKey::Junction {
                table: table.clone(),
                from: from.clone(),
                to: to.clone(),
                parent: parent.clone(),
                target: target.clone(),
            };
        }
    };
    let all = || KeyColumns { set: pairs.clone(), same: Vec::new() };
    if relation.cardinality == Cardinality::Many {
        return LinkKey::InRelated(all());
    }
    let is_id = |entity: &Entity, column: &str| {
        entity.id.is_some_and(|id| entity.field(id).column.eq_ignore_ascii_case(column))
    };
    // Other pairs beside an id, such as a tenant's, only restrict which records may be linked.
    let (set, same): (Vec<_>, Vec<_>) = pairs.iter().cloned().partition(|pair| is_id(target, &pair.target));
    if !set.is_empty() {
        return LinkKey::InSubject(KeyColumns { set, same });
    }
    let (set, same): (Vec<_>, Vec<_>) = pairs.iter().cloned().partition(|pair| is_id(parent, &pair.parent));
    if !set.is_empty() {
        return LinkKey::InRelated(KeyColumns { set, same });
    }
    if pairs.iter().all(is_named_after_parent) {
        LinkKey::InRelated(all())
    } else {
        LinkKey::InSubject(all())
    }
}

fn is_named_after_parent(pair: &ColumnPair) -> bool {
    pair.target.len() > pair.parent.len() && pair.target.to_lowercase().ends_with(&pair.parent.to_lowercase())
}
