//! Parsing of JSON text into a document. Parsing continues after a fault, so that all faults are reported.

mod json;
mod policy;

use std::collections::HashSet;

use self::json::{Json, Node};
use crate::{
    Cardinality, ComputedDocument, Document, EntityDocument, Entries, Fault, FieldType, IdField,
    JoinDocument, ThroughDocument, Upload, Writable,
};

const DOCUMENT: [&str; 3] = ["entities", "joins", "policies"];
const ENTITY: [&str; 8] =
    ["fields", "table", "columns", "idField", "types", "uploads", "writable", "computed"];
const JOIN: [&str; 4] = ["entity", "on", "type", "through"];
const THROUGH: [&str; 3] = ["table", "from", "to"];
const UPLOAD: [&str; 2] = ["maxBytes", "contentTypes"];
const COMPUTED: [&str; 2] = ["from", "template"];

/// The result of parsing, possibly incomplete.
pub(super) struct Reading {
    pub(super) document: Document,
    pub(super) faults: Vec<Fault>,
    /// Whether every entity and join of the text is in the document, at least in part.
    pub(super) whole: bool,
    /// Paths of the entities and joins with faults.
    pub(super) unsound: HashSet<String>,
}

pub(super) fn read(text: &str) -> Reading {
    let mut reader = Reader { json: Json::new(text), unsound: HashSet::new() };
    let read = reader.document();
    let (positions, faults) = reader.json.finish();
    let whole = read.is_some();
    let document = Document { positions, ..read.unwrap_or_default() };
    Reading { document, faults, whole, unsound: reader.unsound }
}

struct Reader<'t> {
    json: Json<'t>,
    unsound: HashSet<String>,
}

impl<'t> Reader<'t> {
    fn document(&mut self) -> Option<Document> {
        let root = self.json.root()?;
        let mut document = Document::default();
        let mut entities = None;
        let mut joins_read = true;
        for (key, node) in self.json.object("document", root)? {
            match key.as_str() {
                "entities" => entities = Some(self.parts("entities", node, Self::entity)),
                "joins" => match self.parts("joins", node, Self::join) {
                    Some(joins) => document.joins = joins.into_iter().collect(),
                    None => joins_read = false,
                },
                "policies" => document.policies = self.policies(node),
                _ => self.json.unknown("document", &key, node, &DOCUMENT),
            }
        }
        match entities {
            Some(Some(entities)) if joins_read => document.entities = entities.into_iter().collect(),
            Some(_) => return None,
            None => {
                self.json.missing("document", "entities");
                return None;
            }
        }
        Some(document)
    }

    /// Parses the entries of `entities` or `joins`. Entries that cannot be parsed are replaced by defaults.
    fn parts<T>(
        &mut self,
        path: &str,
        node: Node<'t>,
        read: fn(&mut Self, &str, Node<'t>) -> T,
    ) -> Option<Vec<(String, T)>> {
        self.json.enter(path, node);
        let mut parts = Vec::new();
        for (key, node) in self.json.object(path, node)? {
            let inner = format!("{path}.{key}");
            let before = self.json.unsound;
            self.json.enter(&inner, node);
            parts.push((key, read(self, &inner, node)));
            if self.json.unsound > before {
                self.unsound.insert(inner);
            }
        }
        Some(parts)
    }

    fn entity(&mut self, path: &str, node: Node<'t>) -> EntityDocument {
        let mut entity = EntityDocument::default();
        let Some(entries) = self.json.object(path, node) else { return entity };
        let mut has_fields = false;
        for (key, node) in entries {
            let inner = format!("{path}.{key}");
            self.json.enter(&inner, node);
            match key.as_str() {
                "fields" => {
                    has_fields = true;
                    entity.fields = self.json.texts(&inner, node);
                }
                "table" => entity.table = self.json.text(&inner, node),
                "columns" => entity.columns = self.map(&inner, node, Self::text),
                "idField" if node.is_null() => entity.id_field = IdField::Null,
                "idField" => {
                    if let Some(name) = self.json.text(&inner, node) {
                        entity.id_field = IdField::Field(name);
                    }
                }
                "types" => entity.types = self.map(&inner, node, Self::field_type),
                "uploads" => entity.uploads = self.map(&inner, node, Self::upload),
                "writable" => entity.writable = self.writable(&inner, node),
                "computed" => entity.computed = self.map(&inner, node, Self::computed),
                _ => self.json.unknown(path, &key, node, &ENTITY),
            }
        }
        if !has_fields {
            self.json.missing(path, "fields");
        }
        entity
    }

    fn map<T>(
        &mut self,
        path: &str,
        node: Node<'t>,
        read: fn(&mut Self, &str, Node<'t>) -> Option<T>,
    ) -> Entries<T> {
        let mut map = Entries::new();
        for (key, node) in self.json.object(path, node).unwrap_or_default() {
            let inner = format!("{path}.{key}");
            self.json.enter(&inner, node);
            if let Some(value) = read(self, &inner, node) {
                map.push(key, value);
            }
        }
        map
    }

    fn text(&mut self, path: &str, node: Node<'t>) -> Option<String> {
        self.json.text(path, node)
    }

    fn field_type(&mut self, path: &str, node: Node<'t>) -> Option<FieldType> {
        let name = self.json.text(path, node)?;
        let ty = FieldType::parse(&name);
        if ty.is_none() {
            self.json.unknown_word(path, "type", &name, &FieldType::ALL.map(FieldType::name));
        }
        ty
    }

    fn upload(&mut self, path: &str, node: Node<'t>) -> Option<Upload> {
        let mut upload = Upload::default();
        for (key, node) in self.json.object(path, node)? {
            let inner = format!("{path}.{key}");
            self.json.enter(&inner, node);
            match key.as_str() {
                "maxBytes" => {
                    upload.max_bytes = node.number().filter(|bytes| *bytes > 0);
                    if upload.max_bytes.is_none() {
                        self.json.fault(&inner, "Expected a whole number of bytes, at least 1");
                    }
                }
                "contentTypes" => {
                    let types = self.json.texts(&inner, node);
                    if types.is_empty() || types.iter().any(String::is_empty) {
                        self.json.fault(&inner, "Expected content types; leave it out to allow any");
                    }
                    upload.content_types = Some(types);
                }
                _ => self.json.unknown(path, &key, node, &UPLOAD),
            }
        }
        Some(upload)
    }

    fn writable(&mut self, path: &str, node: Node<'t>) -> Writable {
        match node.boolean() {
            Some(true) => Writable::All,
            Some(false) => Writable::None,
            None if node.is_array() => Writable::Fields(self.json.texts(path, node)),
            None => {
                self.json.wrong(path, "true, false or a list of fields", node);
                Writable::None
            }
        }
    }

    fn computed(&mut self, path: &str, node: Node<'t>) -> Option<ComputedDocument> {
        let (mut from, mut template) = (None, None);
        for (key, node) in self.json.object(path, node)? {
            let inner = format!("{path}.{key}");
            self.json.enter(&inner, node);
            match key.as_str() {
                "from" => from = Some(self.json.texts(&inner, node)),
                "template" => template = Some(self.json.text(&inner, node).unwrap_or_default()),
                _ => self.json.unknown(path, &key, node, &COMPUTED),
            }
        }
        self.required(path, &[(from.is_some(), "from"), (template.is_some(), "template")]);
        Some(ComputedDocument { from: from?, template: template? })
    }

    fn join(&mut self, path: &str, node: Node<'t>) -> JoinDocument {
        let (mut entity, mut on, mut cardinality, mut through) = (None, None, None, None);
        let Some(entries) = self.json.object(path, node) else { return JoinDocument::many("", "") };
        for (key, node) in entries {
            let inner = format!("{path}.{key}");
            self.json.enter(&inner, node);
            match key.as_str() {
                "entity" => entity = Some(self.json.text(&inner, node).unwrap_or_default()),
                "on" => on = self.json.text(&inner, node),
                "type" => cardinality = Some(self.cardinality(&inner, node)),
                "through" => through = self.through(&inner, node),
                _ => self.json.unknown(path, &key, node, &JOIN),
            }
        }
        self.required(path, &[(entity.is_some(), "entity"), (cardinality.is_some(), "type")]);
        JoinDocument {
            entity: entity.unwrap_or_default(),
            on,
            cardinality: cardinality.unwrap_or(Cardinality::Many),
            through,
        }
    }

    fn cardinality(&mut self, path: &str, node: Node<'t>) -> Cardinality {
        match self.json.text(path, node).as_deref() {
            Some("one") => Cardinality::One,
            Some("many") | None => Cardinality::Many,
            Some(other) => {
                self.json.unknown_word(path, "type", other, &["one", "many"]);
                Cardinality::Many
            }
        }
    }

    fn through(&mut self, path: &str, node: Node<'t>) -> Option<ThroughDocument> {
        let (mut table, mut from, mut to) = (None, None, None);
        for (key, node) in self.json.object(path, node)? {
            let inner = format!("{path}.{key}");
            self.json.enter(&inner, node);
            let slot = match key.as_str() {
                "table" => &mut table,
                "from" => &mut from,
                "to" => &mut to,
                _ => {
                    self.json.unknown(path, &key, node, &THROUGH);
                    continue;
                }
            };
            *slot = Some(self.json.text(&inner, node).unwrap_or_default());
        }
        self.required(path, &[(table.is_some(), "table"), (from.is_some(), "from"), (to.is_some(), "to")]);
        Some(ThroughDocument { table: table?, from: from?, to: to? })
    }

    fn required(&mut self, path: &str, keys: &[(bool, &str)]) {
        for (_, key) in keys.iter().filter(|(given, _)| !given) {
            self.json.missing(path, key);
        }
    }
}
