//! What does a document mean? Names become ids and joins become columns, or every fault is reported.

mod entity;
mod policy;
mod relation;

use std::collections::HashSet;

use crate::check::Tables;
use crate::fault::{Places, hint};
use crate::{Catalog, Document, Fault, Faults, Schema, Table};

/// Keys that stand for routes. `SPEC §2.2`
const RESERVED_ENTITIES: [&str; 5] = ["queries", "auth", "logout", "write", "files"];

/// A name that stands for a route below a record. `SPEC §2.2`
const RESERVED_MEMBER: &str = "events";

/// Whether an entity may not have that key.
pub(crate) fn is_reserved_entity(key: &str) -> bool {
    RESERVED_ENTITIES.contains(&key)
}

/// Whether a field or relation may not have that name.
pub(crate) fn is_reserved_member(name: &str) -> bool {
    name == RESERVED_MEMBER
}

/// The table of an entity whose document names none. `SPEC §6`
pub(crate) fn default_table(key: &str) -> String {
    if key.ends_with('s') { key.to_owned() } else { format!("{key}s") }
}

/// Loads a document. `unsound` are places of entities and joins that already have faults: they are loaded
/// as far as they go, so that others can refer to them, and nothing more is said about them.
pub(crate) fn load(
    document: &Document,
    catalog: Option<&Catalog>,
    unsound: &HashSet<String>,
) -> Result<Schema, Faults> {
    let mut loader = Loader {
        places: &document.places,
        tables: catalog.map(Tables::new),
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
    if loader.faults.is_empty() { Ok(loader.schema) } else { Err(loader.faults.into()) }
}

struct Loader<'a> {
    places: &'a Places,
    /// Absent when no catalog is given.
    tables: Option<Tables<'a>>,
    unsound: &'a HashSet<String>,
    faults: Vec<Fault>,
    schema: Schema,
    /// The catalog's tables of the schema's entities, by entity index.
    stored: Vec<Option<&'a Table>>,
}

impl Loader<'_> {
    fn fault(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.faults.push(self.places.fault(place, message));
    }

    fn hint<'n>(&self, name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
        hint(&self.faults, name, names)
    }

    /// The rules that hold for every name in a document.
    fn check_name(&mut self, place: &str, what: &str, name: &str) {
        if name.is_empty() {
            self.fault(place, format!("{what} needs a name"));
        } else if name.starts_with('$') {
            self.fault(place, format!("The name '{name}' begins with '$', which marks controls; rename it"));
        }
    }

    fn check_member_name(&mut self, place: &str, what: &str, name: &str) {
        self.check_name(place, what, name);
        if is_reserved_member(name) {
            self.fault(place, format!("The name '{name}' is reserved for the event stream; rename it"));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
