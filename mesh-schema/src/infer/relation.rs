//! Relations inferred from foreign keys, and their names.

use std::collections::{HashMap, HashSet};

use super::key::claim;
use super::naming::{camel, capitalized, plural_name, words};
use super::{Note, ServedTable, note, repeated};
use crate::document::join_condition::ColumnRef;
use crate::load::is_reserved_member;
use crate::load::lookup::Tables;
use crate::{Catalog, ForeignKey, JoinDocument, TableName, ThroughDocument};

/// Pairs of child and parent columns, in the spelling of the catalog.
type Pairs = Vec<(String, String)>;

/// A foreign key between two served tables.
struct Reference<'s> {
    child: &'s ServedTable<'s>,
    parent: &'s ServedTable<'s>,
    pairs: Pairs,
    /// Whether a parent has at most one child.
    unique: bool,
    /// The name of the relation from child to parent.
    name: String,
}

impl<'s> Reference<'s> {
    fn ends(&self) -> [&'s TableName; 2] {
        [&self.child.name, &self.parent.name]
    }
}

/// The relations found so far.
struct Relations<'s, 'n> {
    /// The table, the name and the definition of each relation.
    found: Vec<(&'s ServedTable<'s>, String, JoinDocument)>,
    notes: &'n mut Vec<Note>,
}

impl<'s> Relations<'s, '_> {
    /// Adds a relation under an unused name, and returns this name.
    fn add(&mut self, table: &'s ServedTable<'s>, wanted: String, join: JoinDocument) -> String {
        let name = claim(&mut table.taken.borrow_mut(), wanted.clone(), is_reserved_member);
        if name != wanted {
            let message = format!(
                "its relation to '{}' is called '{name}', because '{wanted}' is reserved or taken",
                join.entity
            );
            self.notes.push(note(&table.name, message));
        }
        self.found.push((table, name.clone(), join));
        name
    }
}

/// Returns all joins, grouped by entity.
pub(super) fn joins(
    catalog: &Catalog,
    served: &[ServedTable<'_>],
    notes: &mut Vec<Note>,
) -> Vec<(String, JoinDocument)> {
    let mut references = references(catalog, served, notes);
    let mut relations = Relations { found: Vec::new(), notes };
    let unnamed = references.iter().filter(|reference| stem(reference).is_none());
    let several_unnamed = repeated(unnamed.map(Reference::ends));
    for reference in &mut references {
        let wanted = name_of_parent(reference, several_unnamed.contains(&reference.ends()));
        let join = JoinDocument::one(&reference.parent.key, condition(reference, true));
        reference.name = relations.add(reference.child, wanted, join);
    }
    let several = repeated(references.iter().map(Reference::ends));
    for reference in &references {
        let (child, on) = (&reference.child.key, condition(reference, false));
        let (mut wanted, join) = match reference.unique {
            true => (child.clone(), JoinDocument::one(child, on)),
            false => (plural_name(child), JoinDocument::many(child, on)),
        };
        if several.contains(&reference.ends()) {
            wanted = format!("{wanted}By{}", capitalized(reference.name.trim_end_matches('_')));
        }
        relations.add(reference.parent, wanted, join);
    }
    many_to_many(&references, served, &mut relations);
    let mut found = relations.found;
    found.sort_by_key(|(table, ..)| &table.name);
    found.into_iter().map(|(table, name, join)| (format!("{}.{name}", table.key), join)).collect()
}

fn references<'s>(
    catalog: &Catalog,
    served: &'s [ServedTable<'s>],
    notes: &mut Vec<Note>,
) -> Vec<Reference<'s>> {
    let tables = Tables::new(catalog);
    let by_name = served.iter().map(|table| (&table.name, table)).collect();
    let mut references = Vec::new();
    for child in served {
        let mut seen = HashSet::new();
        for key in &child.table.foreign_keys {
            match resolve(&tables, &by_name, child, key) {
                Ok((parent, pairs)) => {
                    if seen.insert((&parent.name, pairs.clone())) {
                        let unique = is_unique(child, &pairs);
                        references.push(Reference { child, parent, pairs, unique, name: String::new() });
                    }
                }
                Err(reason) => {
                    let message = format!(
                        "the foreign key ({}) does not define a relation: {reason}",
                        key.columns.join(", ")
                    );
                    notes.push(note(&child.name, message));
                }
            }
        }
    }
    references
}

/// Returns the parent and the columns of a foreign key, or the reason why it does not define a relation.
fn resolve<'s>(
    tables: &Tables<'_>,
    by_name: &HashMap<&TableName, &'s ServedTable<'s>>,
    child: &ServedTable<'_>,
    key: &ForeignKey,
) -> Result<(&'s ServedTable<'s>, Pairs), String> {
    let name = TableName { schema: key.target_schema.clone(), name: key.target.clone() };
    let target = tables.find(&name).ok_or_else(|| format!("there is no table '{name}'"))?.full_name();
    let parent = *by_name.get(&target).ok_or_else(|| format!("the table '{target}' is not served"))?;
    let target_columns =
        if key.target_columns.is_empty() { &parent.table.primary_key } else { &key.target_columns };
    if target_columns.is_empty() || target_columns.len() != key.columns.len() {
        return Err(format!("it does not fit the key of '{target}'"));
    }
    let mut pairs = Vec::new();
    for (from, to) in key.columns.iter().zip(target_columns) {
        pairs.push((usable_column(child, from)?, usable_column(parent, to)?));
    }
    Ok((parent, pairs))
}

/// Returns the column in the spelling of the catalog, if relations may use it.
fn usable_column(served: &ServedTable<'_>, column: &str) -> Result<String, String> {
    let found = served.table.column(column).filter(|column| !column.name.is_empty());
    let found = found.ok_or_else(|| format!("the table '{}' has no column '{column}'", served.name))?;
    if served.field_of(&found.name).is_none() {
        return Err(format!("the column '{}' of '{}' looks like a secret", found.name, served.name));
    }
    Ok(found.name.clone())
}

/// Returns whether these columns contain a key of the child.
fn is_unique(child: &ServedTable<'_>, pairs: &[(String, String)]) -> bool {
    let within = |set: &Vec<String>| {
        !set.is_empty()
            && set.iter().all(|name| {
                let column = child.table.column(name);
                column.is_some_and(|column| pairs.iter().any(|(from, _)| *from == column.name))
            })
    };
    within(&child.table.primary_key) || child.table.unique.iter().any(within)
}

/// Returns the name of the relation to the parent: the column without `_id` or `Id`. A reference without such a column is
/// named after the parent, or after its first column if there are several such references to the same parent.
fn name_of_parent(reference: &Reference<'_>, several: bool) -> String {
    let column = reference.pairs.first().map(|(column, _)| camel(&words(column)));
    stem(reference)
        .or_else(|| column.filter(|name| several && !name.is_empty()))
        .unwrap_or_else(|| reference.parent.key.clone())
}

/// Returns the words before `id`, if the reference has a single column whose last word is `id`.
fn stem(reference: &Reference<'_>) -> Option<String> {
    let [(column, _)] = reference.pairs.as_slice() else { return None };
    let words = words(column);
    match words.split_last() {
        Some((last, stem @ [_, ..])) if last.eq_ignore_ascii_case("id") => Some(camel(stem)),
        _ => None,
    }
}

/// Returns the `on` condition of a relation. The target is on the left, as self-joins require.
fn condition(reference: &Reference<'_>, is_to_parent: bool) -> String {
    conjunction(reference.pairs.iter().map(|(from, to)| {
        let (from, to) = (column(reference.child, from), column(reference.parent, to));
        if is_to_parent { (to, from) } else { (from, to) }
    }))
}

fn conjunction(equalities: impl IntoIterator<Item = (ColumnRef, ColumnRef)>) -> String {
    let equalities = equalities.into_iter().map(|(left, right)| format!("{left} = {right}"));
    equalities.collect::<Vec<_>>().join(" AND ")
}

fn column(served: &ServedTable<'_>, column: &str) -> ColumnRef {
    let TableName { schema, name } = served.name.clone();
    ColumnRef { schema, table: name, column: column.to_owned() }
}

/// Adds the relations through pure junction tables, in both directions.
fn many_to_many<'s>(
    references: &[Reference<'s>],
    served: &'s [ServedTable<'s>],
    relations: &mut Relations<'s, '_>,
) {
    let junctions: Vec<_> = served.iter().filter_map(|table| junction(table, references)).collect();
    let parents = |[a, b]: &[&Reference<'s>; 2]| {
        let (a, b) = (&a.parent.name, &b.parent.name);
        (a.min(b), a.max(b))
    };
    let several = repeated(junctions.iter().map(parents));
    for junction @ [a, b] in &junctions {
        for (from, to) in [(a, b), (b, a)] {
            // If both sides are the same entity, the columns of the junction give the name.
            let is_within_entity = a.parent.name == b.parent.name;
            let one = if is_within_entity { to.name.trim_end_matches('_') } else { &to.parent.key };
            let mut wanted = plural_name(one);
            if several.contains(&parents(junction)) {
                wanted = format!("{wanted}By{}", capitalized(&from.child.key));
            }
            if let Some(join) = through(from, to) {
                relations.add(from.parent, wanted, join);
            }
        }
    }
}

/// Returns the two references that form the primary key of a table, if it is a pure junction table.
fn junction<'r, 's>(
    table: &ServedTable<'_>,
    references: &'r [Reference<'s>],
) -> Option<[&'r Reference<'s>; 2]> {
    let [first, second] = table.table.primary_key.as_slice() else { return None };
    let side = |name: &str| {
        let column = table.table.column(name)?;
        references.iter().find(|reference| {
            // A reference of the table to itself does not count.
            let is_outward = reference.child.name == table.name && reference.parent.name != table.name;
            is_outward && matches!(reference.pairs.as_slice(), [(from, _)] if *from == column.name)
        })
    };
    let (first, second) = (side(first)?, side(second)?);
    (!std::ptr::eq(first, second)).then_some([first, second])
}

fn through(from: &Reference<'_>, to: &Reference<'_>) -> Option<JoinDocument> {
    let (junction, parent, target) = (from.child, from.parent, to.parent);
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
            (column(junction, from_column), column(parent, parent_column)),
            (column(junction, to_column), column(target, target_column)),
        ]));
    }
    Some(join)
}
