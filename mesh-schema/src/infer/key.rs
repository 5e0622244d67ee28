//! Names of inferred entities and fields: camel case, unless two names collide.

use std::collections::{HashMap, HashSet};

use super::{Note, Served, naming, note};
use crate::load::{is_reserved_entity, is_reserved_member};

/// Assigns an entity key to every table. Tables whose keys collide keep their storage names.
pub(super) fn name_entities(served: &mut [Served<'_>], notes: &mut Vec<Note>) {
    let wanted: Vec<String> = served.iter().map(|table| naming::entity_key(&table.table.name)).collect();
    let mut by_storage: HashMap<&str, usize> = HashMap::new();
    for table in served.iter() {
        *by_storage.entry(&table.table.name).or_default() += 1;
    }
    let storage: Vec<String> = served
        .iter()
        .map(|table| {
            let name = &table.table.name;
            let shared = by_storage.get(name.as_str()).is_some_and(|count| *count > 1);
            let schema = table.table.schema.as_deref().filter(|_| shared);
            schema.map_or_else(|| name.clone(), |schema| format!("{schema}_{name}")).replace('.', "_")
        })
        .collect();
    let keys = assign(wanted, storage, &mut HashSet::new(), is_reserved_entity);
    for (table, (key, plain)) in served.iter_mut().zip(keys) {
        if !plain {
            notes.push(note(
                &table.name,
                format!("served as '{key}', because its plain name is taken, reserved or empty"),
            ));
        }
        table.key = key;
    }
}

/// Assigns a field name to every column. Columns whose names collide keep their storage names.
pub(super) fn name_fields(served: &mut Served<'_>, notes: &mut Vec<Note>) {
    let storage: Vec<String> = served.columns.iter().map(|served| served.column.name.clone()).collect();
    let wanted = storage.iter().map(|name| naming::camel(&naming::words(name))).collect();
    let names = assign(wanted, storage, &mut served.taken, is_reserved_member);
    for (column, (field, plain)) in served.columns.iter_mut().zip(names) {
        if !plain {
            let path = format_args!("{}.{}", served.name, column.column.name).to_string();
            let message = format!("served as '{field}', because its plain name is taken, reserved or empty");
            notes.push(note(&path, message));
        }
        column.field = field;
    }
}

/// Assigns names: the wanted name, or one derived from the storage name if the wanted name is empty or collides. Also
/// returns whether each item got its wanted name.
fn assign(
    wanted: Vec<String>,
    storage: Vec<String>,
    taken: &mut HashSet<String>,
    is_reserved: fn(&str) -> bool,
) -> Vec<(String, bool)> {
    let mut wanting: HashMap<String, usize> = HashMap::new();
    for name in &wanted {
        *wanting.entry(name.clone()).or_default() += 1;
    }
    let alone = |name: &str| !name.is_empty() && wanting.get(name) == Some(&1);
    // An item with a unique wanted name gets it, whatever the others fall back to.
    taken.extend(wanted.iter().filter(|name| alone(name) && !is_reserved(name)).cloned());
    wanted
        .into_iter()
        .zip(storage)
        .map(|(name, storage)| {
            if !alone(&name) {
                return (claim(taken, legal(storage), is_reserved), false);
            }
            if is_reserved(&name) { (claim(taken, name, is_reserved), false) } else { (name, true) }
        })
        .collect()
}

/// Returns a storage name without characters that names must not have.
fn legal(name: String) -> String {
    if name.is_empty() || name.starts_with('$') { format!("_{name}") } else { name }
}

/// Claims a name, with as many `_` appended as needed to be unique.
pub(super) fn claim(taken: &mut HashSet<String>, mut name: String, is_reserved: fn(&str) -> bool) -> String {
    while is_reserved(&name) || taken.contains(&name) {
        name.push('_');
    }
    taken.insert(name.clone());
    name
}
