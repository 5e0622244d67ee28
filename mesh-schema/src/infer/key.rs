//! Names of inferred entities and fields: camel case, unless two names collide.

use std::collections::HashSet;

use super::{Note, ServedTable, naming, note, repeated};
use crate::load::{is_reserved_entity, is_reserved_member};

/// Assigns an entity key to every table. Tables whose keys collide keep their storage names.
pub(super) fn name_entities(served: &mut [ServedTable<'_>], notes: &mut Vec<Note>) {
    let wanted: Vec<String> = served.iter().map(|table| naming::entity_key(&table.table.name)).collect();
    let shared = repeated(served.iter().map(|table| &table.table.name));
    let storage: Vec<String> = served
        .iter()
        .map(|table| {
            let name = &table.table.name;
            let schema = table.table.schema.as_deref().filter(|_| shared.contains(name));
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
pub(super) fn name_fields(served: &mut ServedTable<'_>, notes: &mut Vec<Note>) {
    let storage: Vec<String> =
        served.columns.iter().map(|served| served.column.name.replace('.', "_")).collect();
    let wanted = storage.iter().map(|name| naming::camel(&naming::words(name))).collect();
    let names = assign(wanted, storage, served.taken.get_mut(), is_reserved_member);
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
    let shared = repeated(wanted.iter());
    let is_alone = |name: &String| !name.is_empty() && !shared.contains(name);
    // Unique wanted names are reserved first, so that no fallback name of another item takes them.
    taken.extend(wanted.iter().filter(|name| is_alone(name) && !is_reserved(name)).cloned());
    let assigned = wanted.iter().zip(storage).map(|(name, storage)| match is_alone(name) {
        true if !is_reserved(name) => (name.clone(), true),
        true => (claim(taken, name.clone(), is_reserved), false),
        false => (claim(taken, to_legal_name(storage), is_reserved), false),
    });
    assigned.collect()
}

/// Makes a storage name legal: an empty name, or a name that begins with `$`, gets the prefix `_`.
fn to_legal_name(name: String) -> String {
    if name.is_empty() || name.starts_with('$') { format!("_{name}") } else { name }
}

/// Claims a name. Appends `_` until it is neither reserved nor taken.
pub(super) fn claim(taken: &mut HashSet<String>, mut name: String, is_reserved: fn(&str) -> bool) -> String {
    while is_reserved(&name) || taken.contains(&name) {
        name.push('_');
    }
    taken.insert(name.clone());
    name
}
