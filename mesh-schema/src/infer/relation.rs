//! Relations inferred from foreign keys, and their names.

use std::collections::{HashMap, HashSet};

use super::key::claim;
use super::naming::{camel, capitalized, plural_name, words};
use super::{Note, Served, note, repeated};
use crate::document::join_condition::ColumnRef;
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

impl Reference {
    fn ends(&self) -> (usize, usize) {
        (self.child, self.parent)
    }
}

/// Returns all joins, grouped by entity.
pub(super) fn joins(
    catalog: &Catalog,
    served: &mut [Served<'_>],
    notes: &mut Vec<Note>,
) -> Vec<(String, JoinDocument)> {
    let mut references = references(catalog, served, notes);
    let mut found = Vec::new();
    let unnamed = references.iter().filter(|reference| stem(reference).is_none());
    let several_unnamed = repeated(unnamed.map(Reference::ends));
    for reference in &mut references {
        let wanted = name_of_parent(reference, served, several_unnamed.contains(&reference.ends()));
        let join = JoinDocument::one(key_of(served, reference.parent), condition(served, reference, true));
        reference.name = add(&mut found, served, notes, (reference.child, wanted, join));
    }
    let several = repeated(references.iter().map(Reference::ends));
    for reference in &references {
        let child = key_of(served, reference.child);
        let mut wanted = if reference.unique { child.clone() } else { plural_name(&child) };
        if several.contains(&reference.ends()) {
            wanted = format!("{wanted}By{}", capitalized(reference.name.trim_end_matches('_')));
        }
        let on = condition(served, reference, false);
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

/// Returns the `on` of a relation. The target is on the left, as self-joins require.
fn condition(served: &[Served<'_>], reference: &Reference, is_to_parent: bool) -> String {
    let (Some(child), Some(parent)) = (served.get(reference.child), served.get(reference.parent)) else {
        return String::new();
    };
    conjunction(reference.pairs.iter().map(|(from, to)| {
        let (from, to) = (column(&child.name, from), column(&parent.name, to));
        if is_to_parent { (to, from) } else { (from, to) }
    }))
}

fn conjunction(equalities: impl IntoIterator<Item = (ColumnRef, ColumnRef)>) -> String {
    let equalities = equalities.into_iter().map(|(left, right)| format!("{left} = {right}"));
    equalities.collect::<Vec<_>>().join(" AND ")
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
    let junctions: Vec<[&Reference; 2]> =
        (0..served.len()).filter_map(|index| junction(index, references, served)).collect();
    let parents = |[a, b]: &[&Reference; 2]| (a.parent.min(b.parent), a.parent.max(b.parent));
    let several = repeated(junctions.iter().map(parents));
    for junction @ [a, b] in &junctions {
        for (from, to) in [(a, b), (b, a)] {
            // If both sides are the same entity, the columns of the junction give the name.
            let one = if a.parent == b.parent {
                to.name.trim_end_matches('_').to_owned()
            } else {
                key_of(served, to.parent)
            };
            let mut wanted = plural_name(&one);
            if several.contains(&parents(junction)) {
                wanted = format!("{wanted}By{}", capitalized(&key_of(served, from.child)));
            }
            if let Some(join) = through(served, from, to) {
                add(found, served, notes, (from.parent, wanted, join));
            }
        }
    }
}

/// Returns the two references that form the primary key of a table, if it is a pure junction table.
fn junction<'r>(
    index: usize,
    references: &'r [Reference],
    served: &[Served<'_>],
) -> Option<[&'r Reference; 2]> {
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
    (!std::ptr::eq(first, second)).then_some([first, second])
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
        join.on = Some(conjunction([
            (column(&junction.name, from_column), column(&parent.name, parent_column)),
            (column(&junction.name, to_column), column(&target.name, target_column)),
        ]));
    }
    Some(join)
}
