//! Parsing of JSON text into a document. Parsing continues after a fault, so that all faults are reported.

mod json;
mod policy;

use std::collections::HashSet;

use self::json::{Json, Node};
use crate::{
    Cardinality, ComputedDocument, Document, EntityDocument, Entries, Fault, FieldList, FieldType, IdField,
    JoinDocument, SearchDocument, ThroughDocument, Upload, Writable,
};

/// The result of parsing, possibly incomplete.
pub(super) struct ParseOutcome {
    pub(super) document: Document,
    pub(super) faults: Vec<Fault>,
    /// Whether every entity and join of the text is in the document, at least in part.
    pub(super) is_complete: bool,
    /// Paths of the entities and joins with faults.
    pub(super) unsound: HashSet<String>,
}

pub(super) fn read(text: &str) -> ParseOutcome {
    let mut reader = Reader { json: Json::new(text), unsound: HashSet::new() };
    let read = reader.document();
    let (positions, faults) = reader.json.finish();
    let is_complete = read.is_some();
    let document = Document { positions, ..read.unwrap_or_default() };
    ParseOutcome { document, faults, is_complete, unsound: reader.unsound }
}

struct Reader<'t> {
    json: Json<'t>,
    unsound: HashSet<String>,
}

impl<'t> Reader<'t> {
    fn document(&mut self) -> Option<Document> {
        let root = self.json.root()?;
        let [entities, joins, policies] = self.json.members(&root, ["entities", "joins", "policies"], 1)?;
        let entities = entities.and_then(|node| self.parts(&node, Self::entity));
        let joins = match joins {
            Some(node) => self.parts(&node, Self::join),
            None => Some(Entries::new()),
        };
        let policies = policies.and_then(|node| self.parts(&node, Self::role));
        Some(Document { entities: entities?, joins: joins?, policies, ..Document::default() })
    }

    /// Parses the entries of `entities`, `joins` or `policies`. Entries that cannot be parsed are replaced by defaults.
    fn parts<T>(&mut self, node: &Node<'t>, read: fn(&mut Self, &Node<'t>) -> T) -> Option<Entries<T>> {
        let mut parts = Entries::new();
        for (key, node) in self.json.object(node)? {
            let before = self.json.unsound;
            parts.push(key, read(self, &node));
            if self.json.unsound > before {
                self.unsound.insert(node.path);
            }
        }
        Some(parts)
    }

    fn entity(&mut self, node: &Node<'t>) -> EntityDocument {
        let keys = [
            "fields",
            "table",
            "columns",
            "idField",
            "types",
            "uploads",
            "writable",
            "search",
            "computed",
            "description",
            "descriptions",
        ];
        let Some(members) = self.json.members(node, keys, 1) else { return EntityDocument::default() };
        let [
            fields,
            table,
            columns,
            id_field,
            types,
            uploads,
            writable,
            search,
            computed,
            description,
            descriptions,
        ] = members;
        EntityDocument {
            fields: fields.map(|node| self.json.texts(&node)).unwrap_or_default(),
            table: table.and_then(|node| self.json.text(&node)),
            columns: self.map(columns, |reader, node| reader.json.text(node)),
            id_field: match id_field {
                Some(node) if node.is_null() => IdField::Null,
                Some(node) if node.is_array() => IdField::Fields(self.json.texts(&node)),
                Some(node) => self.json.text(&node).map_or(IdField::Unset, IdField::Field),
                None => IdField::Unset,
            },
            types: self.map(types, |reader, node| {
                reader.json.name(
                    node,
                    "type",
                    |name| name.parse().ok(),
                    &FieldType::ALL.map(FieldType::as_str),
                )
            }),
            uploads: self.map(uploads, Self::upload),
            writable: self.writable(writable),
            search: search.and_then(|node| self.search(&node)),
            computed: self.map(computed, Self::computed),
            description: description.and_then(|node| self.json.text(&node)),
            descriptions: self.map(descriptions, |reader, node| reader.json.text(node)),
        }
    }

    fn map<T>(&mut self, node: Option<Node<'t>>, read: fn(&mut Self, &Node<'t>) -> Option<T>) -> Entries<T> {
        let entries = node.and_then(|node| self.json.object(&node)).unwrap_or_default();
        entries.into_iter().filter_map(|(key, node)| Some((key, read(self, &node)?))).collect()
    }

    fn upload(&mut self, node: &Node<'t>) -> Option<Upload> {
        let [max_bytes, content_types] = self.json.members(node, ["maxBytes", "contentTypes"], 0)?;
        let mut upload = Upload::default();
        if let Some(node) = max_bytes {
            // The loader refuses zero.
            upload.max_bytes = node.number();
            if upload.max_bytes.is_none() {
                self.json.fault(&node.path, "Expected a whole number of bytes, at least 1");
            }
        }
        if let Some(node) = content_types {
            let types = self.json.texts(&node);
            if types.is_empty() || types.iter().any(String::is_empty) {
                self.json.fault(
                    &node.path,
                    "Expected one or more content types; leave 'contentTypes' out to allow any type",
                );
            }
            upload.content_types = Some(types);
        }
        Some(upload)
    }

    fn writable(&mut self, node: Option<Node<'t>>) -> Writable {
        let Some(node) = node else { return Writable::default() };
        if !node.is_object() {
            let fields = self.field_list(
                &node,
                "true, false, a list of fields, or an object of create, update and delete",
            );
            return Writable { create: fields.clone(), delete: fields == FieldList::All, update: fields };
        }
        let members = self.json.members(&node, ["create", "update", "delete"], 0).unwrap_or_default();
        let [create, update, delete] = members;
        let mut fields = |node: Option<Node<'t>>| {
            node.map(|node| self.field_list(&node, "true, false or a list of fields")).unwrap_or_default()
        };
        let (create, update) = (fields(create), fields(update));
        let delete = delete.is_some_and(|node| {
            node.boolean().unwrap_or_else(|| {
                self.json.wrong_kind(&node, "true or false");
                false
            })
        });
        Writable { create, update, delete }
    }

    fn field_list(&mut self, node: &Node<'t>, expected: &str) -> FieldList {
        match node.boolean() {
            Some(true) => FieldList::All,
            Some(false) => FieldList::None,
            None if node.is_array() => FieldList::Fields(self.json.texts(node)),
            None => {
                self.json.wrong_kind(node, expected);
                FieldList::None
            }
        }
    }

    fn search(&mut self, node: &Node<'t>) -> Option<SearchDocument> {
        let [fields, language, table] = self.json.members(node, ["fields", "language", "table"], 1)?;
        Some(SearchDocument {
            fields: self.json.texts(&fields?),
            language: language.and_then(|node| self.json.text(&node)),
            table: table.and_then(|node| self.json.text(&node)),
        })
    }

    fn computed(&mut self, node: &Node<'t>) -> Option<ComputedDocument> {
        let [from, template] = self.json.members(node, ["from", "template"], 2)?;
        let (from, template) = (from?, template?);
        Some(ComputedDocument {
            from: self.json.texts(&from),
            template: self.json.text(&template).unwrap_or_default(),
        })
    }

    fn join(&mut self, node: &Node<'t>) -> JoinDocument {
        let keys = ["entity", "type", "on", "through"];
        let members = self.json.members(node, keys, 2).unwrap_or_default();
        let [entity, cardinality, on, through] = members;
        let entity = entity.and_then(|node| self.json.text(&node)).unwrap_or_default();
        let on = on.and_then(|node| self.json.text(&node));
        let cardinality = cardinality.and_then(|node| {
            self.json.name(
                &node,
                "type",
                |name| name.parse().ok(),
                &Cardinality::ALL.map(Cardinality::as_str),
            )
        });
        JoinDocument {
            entity,
            on,
            cardinality: cardinality.unwrap_or(Cardinality::Many),
            through: through.and_then(|node| self.through(&node)),
        }
    }

    fn through(&mut self, node: &Node<'t>) -> Option<ThroughDocument> {
        let members = self.json.members(node, ["table", "from", "to"], 3)?;
        let [table, from, to] = members.map(|member| Some(self.json.text(&member?).unwrap_or_default()));
        Some(ThroughDocument { table: table?, from: from?, to: to? })
    }
}
