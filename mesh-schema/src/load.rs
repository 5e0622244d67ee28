//! Loading of documents: names become ids and joins become columns, or every fault is reported.

mod entity;
pub(crate) mod lookup;
mod policy;
mod relation;
mod search;
mod tie_break;

use std::collections::HashSet;

use self::lookup::Tables;
use crate::fault::{Positions, hint};
use crate::{Catalog, Document, Fault, Faults, Schema, Table, TextSearch};

/// Entity keys that are reserved for routes. `SPEC §2.2`
const RESERVED_ENTITIES: [&str; 6] = ["queries", "auth", "logout", "write", "files", "batch"];

/// Returns whether an entity key is reserved.
pub(crate) fn is_reserved_entity(key: &str) -> bool {
    RESERVED_ENTITIES.contains(&key)
}

/// Returns whether a field or relation name is reserved for a route below a record. `SPEC §2.2`
pub(crate) fn is_reserved_member(name: &str) -> bool {
    name == "events"
}

/// Returns the default table of an entity. `SPEC §6`
pub(crate) fn default_table(key: &str) -> String {
    if key.ends_with('s') { key.to_owned() } else { format!("{key}s") }
}

/// Loads a document. `unsound` contains the paths of entities and joins that already have faults: they are loaded as
/// far as possible, so that others can refer to them, and no further faults are reported for them.
pub(crate) fn load(
    document: &Document,
    catalog: Option<&Catalog>,
    unsound: &HashSet<String>,
) -> Result<Schema, Faults> {
    let mut loader = Loader {
        positions: &document.positions,
        tables: catalog.map(Tables::new),
        text_search: catalog.map_or(&TextSearch::Unknown, |catalog| &catalog.text_search),
        unsound,
        faults: Vec::new(),
        schema: Schema::default(),
        stored: Vec::new(),
    };
    for (key, entity) in document.entities.iter() {
        loader.entity(key, entity);
    }
    for (key, join) in document.joins.iter() {
        loader.join(key, join);
    }
    if let Some(roles) = &document.policies {
        loader.policies(roles);
    }
    let unseen = catalog.into_iter().flat_map(|catalog| &catalog.tables);
    loader.schema.unseen = unseen.filter(|table| table.has_unseen_changes).map(Table::full_name).collect();
    if loader.faults.is_empty() { Ok(loader.schema) } else { Err(loader.faults.into()) }
}

struct Loader<'a> {
    positions: &'a Positions,
    /// `None` without a catalog.
    tables: Option<Tables<'a>>,
    text_search: &'a TextSearch,
    unsound: &'a HashSet<String>,
    faults: Vec<Fault>,
    schema: Schema,
    /// The catalog tables of the entities, by entity index.
    stored: Vec<Option<&'a Table>>,
}

impl Loader<'_> {
    fn fault(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.faults.push(self.positions.fault(path, message));
    }

    fn hint<'n>(&self, name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
        hint(&self.faults, name, names)
    }

    /// Checks the rules that apply to every name in a document.
    fn check_name(&mut self, path: &str, what: &str, name: &str) {
        if name.is_empty() {
            self.fault(path, format!("{what} needs a name"));
        } else if name.starts_with('$') {
            self.fault(path, format!("The name '{name}' begins with '$', which marks controls; rename it"));
        }
    }

    fn check_member_name(&mut self, path: &str, what: &str, name: &str) {
        self.check_name(path, what, name);
        if is_reserved_member(name) {
            self.fault(path, format!("The name '{name}' is reserved for the event stream; rename it"));
        }
        if name.contains('.') {
            self.fault(
                path,
                format!("The name '{name}' has a dot, which separates the names of a path; rename it"),
            );
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
