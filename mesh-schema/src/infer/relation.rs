//! Relations inferred from foreign keys, and their names.

use std::collections::{HashMap, HashSet};

use super::key::claim;
use super::naming::{camel, capitalized, plural_name, words};
use super::{Note, Served, note};
use crate::document::join_condition::{ColumnRef, Equality};
use crate::load::is_reserved_member;
use crate::load::lookup::Tables;
use crate::{Catalog, ForeignKey, JoinDocument, TableName, ThroughDocument};

/// A foreign key between two served tables, identified by their indexes.
struct Reference {
    child: usize,
    parent: usize,
    /// Pairs of child and parent columns, in the spelling of the catalog.
    pairs: Vec<(String, String)>,
    /// Whether a parent has at most one child.
    unique: bool,
    /// The name of the relation from child to parent.
    name: String,
}

/// A pure junction table: the two references that form its primary key.
struct Junction<'r> {
    sides: [&'r Reference; 2],
}

/// Returns all joins, grouped by entity.
pub(super) fn joins(
    catalog: &Catalog,
    served: &mut [Served<'_>],
    notes: &mut Vec<Note>,
) -> Vec<(String, JoinDocument)> {
    let mut references = references(catalog, served, notes);
    let mut found = Vec::new();
    let mut bare: HashMap<(usize, usize), usize> = HashMap::new();
    for reference in references.iter().filter(|reference| stem(reference).is_none()) {
        *bare.entry((reference.child, reference.parent)).or_default() += 1;
    }
    for reference in &mut references {
        let several = bare.get(&(reference.child, reference.parent)).is_some_and(|count| *count > 1);
        let wanted = name_of_parent(reference, served, several);
        let join =
            JoinDocument::one(key_of(served, reference.parent), condition(served, reference, Toward::Parent));
        reference.name = add(&mut found, served, notes, (reference.child, wanted, join));
    }
    let mut between: HashMap<(usize, usize), usize> = HashMap::new();
    for reference in &references {
        *between.entry((reference.child, reference.parent)).or_default() += 1;
    }
    for reference in &references {
        let child = key_of(served, reference.child);
        let mut wanted = if reference.unique { child.clone() } else { plural_name(&child) };
        if between.get(&(reference.child, reference.parent)).is_some_and(|count| *count > 1) {
            wanted = format!("{wanted}By{}", capitalized(reference.name.trim_end_matches('_')));
        }
        let on = condition(served, reference, Toward::Child);
        let join =
            if reference.unique { JoinDocument::one(child, on) } else { JoinDocument::many(child, on) };
        add(&mut found, served, notes, (reference.parent, wanted, join));
    }
    many_to_many(&references, &mut found, served, notes);
    found.sort_by_key(|(entity, _, _)| *entity);
    found
        .into_iter()
        .map(|(entity, name, join)| (format!("{}.{name}", key_of(served, entity)), join))
        .collect()
}

type Found = Vec<(usize, String, JoinDocument)>;

/// Adds a relation under an unused name, which it returns.
fn add(
    found: &mut Found,
    served: &mut [Served<'_>],
    notes: &mut Vec<Note>,
    (entity, wanted, join): (usize, String, JoinDocument),
) -> String {
    let Some(table) = served.get_mut(entity) else { return wanted };
    let name = claim(&mut table.taken, wanted.clone(), is_reserved_member);
    if name != wanted {
        let message = format!(
            "its relation to '{}' is called '{name}', because '{wanted}' is reserved or taken",
            join.entity
        );
        notes.push(note(&table.name, message));
    }
    found.push((entity, name.clone(), join));
    name
}

fn key_of(served: &[Served<'_>], index: usize) -> String {
    served.get(index).map(|table| table.key.clone()).unwrap_or_default()
}

fn references(catalog: &Catalog, served: &[Served<'_>], notes: &mut Vec<Note>) -> Vec<Reference> {
    let tables = Tables::new(catalog);
    let index: HashMap<&TableName, usize> =
        served.iter().enumerate().map(|(index, table)| (&table.name, index)).collect();
    let mut references: Vec<Reference> = Vec::new();
    for (child, table) in served.iter().enumerate() {
        let mut seen = HashSet::new();
        for key in &table.table.foreign_keys {
            match resolve(&tables, &index, served, table, key) {
                Ok((parent, pairs)) => {
                    if seen.insert((parent, pairs.clone())) {
                        let unique = is_unique(table, &pairs);
                        references.push(Reference { child, parent, pairs, unique, name: String::new() });
                    }
                }
                Err(reason) => {
                    let message =
                        format!("the foreign key ({}) gives no relation: {reason}", key.columns.join(", "));
                    notes.push(note(&table.name, message));
                }
            }
        }
    }
    references
}

/// Returns the parent and the columns of a foreign key, or the reason why it gives no relation.
fn resolve(
    tables: &Tables<'_>,
    index: &HashMap<&TableName, usize>,
    served: &[Served<'_>],
    child: &Served<'_>,
    key: &ForeignKey,
) -> Result<(usize, Vec<(String, String)>), String> {
    let name = TableName { schema: key.target_schema.clone(), name: key.target.clone() };
    let target = tables.find(&name).ok_or_else(|| format!("there is no table '{name}'"))?;
    let target_name = TableName { schema: target.schema.clone(), name: target.name.clone() };
    let position = index.get(&target_name).copied();
    let (position, parent) = position
        .and_then(|position| served.get(position).map(|parent| (position, parent)))
        .ok_or_else(|| format!("the table '{target_name}' is not served"))?;
    let target_columns =
        if key.target_columns.is_empty() { &parent.table.primary_key } else { &key.target_columns };
    if target_columns.is_empty() || target_columns.len() != key.columns.len() {
        return Err(format!("it does not fit the key of '{target_name}'"));
    }
    let mut pairs = Vec::new();
    for (from, to) in key.columns.iter().zip(target_columns) {
        pairs.push((usable_column(child, from)?, usable_column(parent, to)?));
    }
    Ok((position, pairs))
}

/// Returns the column in the spelling of the catalog, if relations may use it.
fn usable_column(served: &Served<'_>, column: &str) -> Result<String, String> {
    let found = served.table.column(column).filter(|column| !column.name.is_empty());
    let found = found.ok_or_else(|| format!("the table '{}' has no column '{column}'", served.name))?;
    if served.field_of(&found.name).is_none() {
        return Err(format!("the column '{}' of '{}' looks like a secret", found.name, served.name));
    }
    Ok(found.name.clone())
}

/// Whether these columns contain a key of the child.
fn is_unique(child: &Served<'_>, pairs: &[(String, String)]) -> bool {
    let within = |set: &Vec<String>| {
        !set.is_empty()
            && set.iter().all(|name| {
                let column = child.table.column(name);
                column.is_some_and(|column| pairs.iter().any(|(from, _)| *from == column.name))
            })
    };
    within(&child.table.primary_key) || child.table.unique.iter().any(within)
}

/// Returns the name of the relation to the parent: the column without its `_id` or `Id`, else the key of the parent,
/// or, if there are several references to it, the name of the column.
fn name_of_parent(reference: &Reference, served: &[Served<'_>], several: bool) -> String {
    let column = reference.pairs.first().map(|(column, _)| camel(&words(column)));
    stem(reference)
        .or_else(|| column.filter(|name| several && !name.is_empty()))
        .unwrap_or_else(|| key_of(served, reference.parent))
}

/// Returns the words before `id`, if the reference has a single column that ends so.
fn stem(reference: &Reference) -> Option<String> {
    let [(column, _)] = reference.pairs.as_slice() else { return None };
    let words = words(column);
    match words.split_last() {
        Some((last, stem @ [_, ..])) if last.eq_ignore_ascii_case("id") => Some(camel(stem)),
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Toward {
    Parent,
    Child,
}

/// Returns the `on` of a relation. The target is on the left, as self-joins require.
fn condition(served: &[Served<'_>], reference: &Reference, toward: Toward) -> String {
    let (Some(child), Some(parent)) = (served.get(reference.child), served.get(reference.parent)) else {
        return String::new();
    };
    let equality = |(from, to): &(String, String)| {
        let (from, to) = (column(&child.name, from), column(&parent.name, to));
        match toward {
            Toward::Parent => Equality { left: to, right: from },
            Toward::Child => Equality { left: from, right: to },
        }
    };
    conjunction(reference.pairs.iter().map(equality))
}

fn conjunction(equalities: impl Iterator<Item = Equality>) -> String {
    let written: Vec<String> =
        equalities.map(|equality| format!("{} = {}", equality.left, equality.right)).collect();
    written.join(" AND ")
}

fn column(table: &TableName, column: &str) -> ColumnRef {
    ColumnRef { schema: table.schema.clone(), table: table.name.clone(), column: column.to_owned() }
}

/// Adds the relations through pure junction tables, for both sides.
fn many_to_many(
    references: &[Reference],
    found: &mut Found,
    served: &mut [Served<'_>],
    notes: &mut Vec<Note>,
) {
    let junctions: Vec<Junction<'_>> =
        (0..served.len()).filter_map(|index| junction(index, references, served)).collect();
    let mut between: HashMap<(usize, usize), usize> = HashMap::new();
    for Junction { sides: [a, b] } in &junctions {
        *between.entry((a.parent.min(b.parent), a.parent.max(b.parent))).or_default() += 1;
    }
    for Junction { sides: [a, b] } in &junctions {
        let several =
            between.get(&(a.parent.min(b.parent), a.parent.max(b.parent))).is_some_and(|count| *count > 1);
        for (from, to) in [(a, b), (b, a)] {
            // If both sides are the same entity, the columns of the junction give the name.
            let one = if a.parent == b.parent {
                to.name.trim_end_matches('_').to_owned()
            } else {
                key_of(served, to.parent)
            };
            let mut wanted = plural_name(&one);
            if several {
                wanted = format!("{wanted}By{}", capitalized(&key_of(served, from.child)));
            }
            if let Some(join) = through(served, from, to) {
                add(found, served, notes, (from.parent, wanted, join));
            }
        }
    }
}

/// Returns the table as a junction, if its primary key consists of exactly two columns that each refer to a table.
fn junction<'r>(index: usize, references: &'r [Reference], served: &[Served<'_>]) -> Option<Junction<'r>> {
    let table = served.get(index)?;
    let [first, second] = table.table.primary_key.as_slice() else { return None };
    let side = |name: &str| {
        let column = table.table.column(name)?;
        let single = |reference: &&Reference| matches!(reference.pairs.as_slice(), [(from, _)] if *from == column.name);
        // A reference of the table to itself does not count.
        let outward = |reference: &&Reference| reference.child == index && reference.parent != index;
        references.iter().filter(outward).find(single)
    };
    let (first, second) = (side(first)?, side(second)?);
    (!std::ptr::eq(first, second)).then_some(Junction { sides: [first, second] })
}

fn through(served: &[Served<'_>], from: &Reference, to: &Reference) -> Option<JoinDocument> {
    let junction = served.get(from.child)?;
    let (parent, target) = (served.get(from.parent)?, served.get(to.parent)?);
    let ([(from_column, parent_column)], [(to_column, target_column)]) =
        (from.pairs.as_slice(), to.pairs.as_slice())
    else {
        return None;
    };
    let through = ThroughDocument::new(junction.name.to_string(), from_column, to_column);
    let mut join = JoinDocument::through(&target.key, through);
    // Without `on`, the junction refers to the id fields.
    if parent.id_column() != Some(parent_column) || target.id_column() != Some(target_column) {
        let equalities = [
            (column(&junction.name, from_column), column(&parent.name, parent_column)),
            (column(&junction.name, to_column), column(&target.name, target_column)),
        ];
        join.on = Some(conjunction(equalities.into_iter().map(|(left, right)| Equality { left, right })));
    }
    Some(join)
}
