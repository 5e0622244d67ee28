//! Python names: identifiers of entities, fields and relations, and string literals.

use std::collections::{HashMap, HashSet};

use mesh_schema::{Cardinality, EntityId, Link, Relation, Schema};

use crate::members;

/// Keywords, which cannot be names.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Names that the module imports, and those that its annotations use.
pub(super) const MODULE: [&str; 10] =
    ["annotations", "Any", "TypedDict", "TypeVar", "mesh", "E", "int", "float", "str", "bool"];

/// Names of members that entities and relations have besides fields.
const MEMBERS: [&str; 7] = ["self", "select", "search", "new", "change", "some", "none"];

/// The names of an entity in the module.
#[derive(Debug, Default)]
pub(super) struct ClassNames {
    /// The object of the entity.
    pub(super) object: String,
    /// The type of a record.
    pub(super) record: String,
    /// The class of the fields.
    pub(super) fields: String,
    /// The class of a relation to one record.
    pub(super) path: String,
    /// The class of the entity.
    pub(super) entity: String,
    /// The classes of relations in which records can be created, by relation.
    pub(super) children: HashMap<String, String>,
}

/// The names of a module.
#[derive(Debug)]
pub(super) struct ModuleNames {
    classes: HashMap<EntityId, ClassNames>,
    /// The names of the module, its objects and its classes.
    taken: HashSet<String>,
    /// The names of an entity that is not visible, to which no relation leads.
    none: ClassNames,
}

impl ModuleNames {
    pub(super) fn new(schema: &Schema) -> Self {
        let mut taken: HashSet<String> = MODULE.map(str::to_owned).into();
        let mut unique = |mut name: String| {
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            name
        };
        // Objects come first, because programs use them most.
        let objects: Vec<_> = schema.entities().map(|(_, entity)| unique(identifier(&entity.key))).collect();
        let mut classes = HashMap::new();
        for ((id, entity), object) in schema.entities().zip(objects) {
            let name = capitalized(&entity.key);
            let children =
                members::relations(entity).filter(|relation| has_creatable_children(schema, relation));
            let children: Vec<_> = children.map(|relation| relation.name.clone()).collect();
            let class = ClassNames {
                object,
                record: unique(name.clone()),
                fields: unique(format!("{name}Fields")),
                path: unique(format!("{name}Path")),
                entity: unique(format!("{name}Entity")),
                children: children
                    .into_iter()
                    .map(|relation| {
                        let class = unique(format!("{name}{}", capitalized(&relation)));
                        (relation, class)
                    })
                    .collect(),
            };
            classes.insert(id, class);
        }
        Self { classes, taken, none: ClassNames::default() }
    }

    /// Returns the names of a visible entity.
    pub(super) fn entity(&self, id: EntityId) -> &ClassNames {
        self.classes.get(&id).unwrap_or(&self.none)
    }

    /// Returns the Python names of members of one entity. They are unique and hide no name of the module.
    pub(super) fn members<'m>(&self, members: impl Iterator<Item = &'m str>) -> Vec<(&'m str, String)> {
        let mut taken: HashSet<String> = MEMBERS.map(str::to_owned).into();
        let mut named = Vec::new();
        for wire in members {
            let mut name = identifier(wire);
            while self.hides(&name) || !taken.insert(name.clone()) {
                name.push('_');
            }
            named.push((wire, name));
        }
        named
    }

    /// Returns whether a member of this name would hide a class that annotations next to it use.
    fn hides(&self, name: &str) -> bool {
        let is_object = self.classes.values().any(|class| class.object == name);
        self.taken.contains(name) && (!is_object || MODULE.contains(&name))
    }
}

/// Returns whether records can be created in a relation.
pub(super) fn has_creatable_children(schema: &Schema, relation: &Relation) -> bool {
    let target = schema.entity(relation.target);
    let is_creatable = !target.id.is_empty() && members::fields(target).any(|field| field.writable.create);
    relation.cardinality == Cardinality::Many && matches!(relation.link, Link::Direct { .. }) && is_creatable
}

/// Converts a name to an identifier. Names that differ only in invalid characters may get equal identifiers.
fn identifier(name: &str) -> String {
    let plain = |letter: char| if is_letter(letter) || letter.is_ascii_digit() { letter } else { '_' };
    let mut identifier: String = name.chars().map(plain).collect();
    // A combining mark cannot begin a name, and a member that begins with `_` is private.
    let begins = |first: char| first.is_ascii_alphabetic() || (first.is_lowercase() || first.is_uppercase());
    if !identifier.starts_with(begins) {
        identifier.insert(0, 'n');
    }
    if KEYWORDS.contains(&identifier.as_str()) {
        identifier.push('_');
    }
    identifier
}

/// Returns a name in Pascal case.
fn capitalized(name: &str) -> String {
    let mut pascal = String::new();
    for word in name.split(|letter: char| !is_letter(letter) && !letter.is_ascii_digit()) {
        let mut letters = word.chars();
        pascal.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        pascal.push_str(letters.as_str());
    }
    let begins = |first: char| first.is_ascii_alphabetic() || first.is_uppercase();
    if !pascal.starts_with(begins) {
        pascal.insert(0, 'N');
    }
    if KEYWORDS.contains(&pascal.as_str()) {
        pascal.push('_');
    }
    pascal
}

/// Returns whether a letter can occur in a name. Circled letters and the Greek iota subscripts are alphabetic, but not
/// allowed.
fn is_letter(letter: char) -> bool {
    letter.is_alphabetic()
        && !matches!(letter, '\u{345}' | '\u{37a}' | '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f189}')
        || letter == '_'
}

/// Returns whether a name can be a key of a `TypedDict` in class syntax.
pub(super) fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !KEYWORDS.contains(&name)
        && !MODULE.contains(&name)
}

/// Returns a string literal. JSON literals are valid in Python, except for characters beyond the first 65,536, which are
/// not escaped.
pub(super) fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
