//! Which requests does a server take, and what does it answer? A description in OpenAPI 3.1.
//!
//! Entities stand in it by their own paths, so that tools show what there is. What a request selects is in a header
//! and no part of this description, so in answers every member may be missing; [`crate::json_schema`] says what a
//! query may be.

mod answer;
mod failure;
mod parameter;
mod read;
mod session;
mod write;

use mesh_plan::Registration;
use mesh_schema::{Entity, Relation, Schema};
use serde_json::{Map, Value, json};

use self::Segment::{Any, Fixed};
use crate::json_schema::DIALECT;
use crate::names::Names;

/// What the server around a schema offers: only that is described.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a profile of the protocol, on or off")]
pub struct Options {
    /// What the interface is called.
    pub title: String,
    /// The path that all routes lie under, empty for the root.
    pub base: String,
    /// Login and signed requests.
    pub integrity: Option<Bound>,
    /// Bounds on how often somebody may ask.
    pub rates: bool,
    /// Reads by the id of a query, and who may register queries.
    pub persisted: Option<Registration>,
    /// Whether queries are taken by their id alone.
    pub only: bool,
    /// Streams of changes.
    pub events: bool,
    /// Write routes.
    pub mutations: bool,
    /// Uploads, with the segment under the base where files are served.
    pub uploads: Option<String>,
    /// The playground, with its path.
    pub docs: Option<String>,
    /// Whether the playground's data are for sessions only.
    pub docs_guarded: bool,
}

/// What becomes of signatures that are bound to one use. `SPEC §7.9`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Timestamp and nonce mean nothing.
    Ignored,
    /// A client may send both.
    Accepted,
    /// A client has to.
    Required,
}

impl Options {
    /// A server at that base path with none of the optional profiles.
    pub fn at(base: impl Into<String>) -> Self {
        Self {
            title: "Mesh".to_owned(),
            base: base.into(),
            integrity: None,
            rates: false,
            persisted: None,
            only: false,
            events: false,
            mutations: false,
            uploads: None,
            docs: None,
            docs_guarded: false,
        }
    }
}

/// The description of a server, as a JSON document.
pub fn document(schema: &Schema, options: &Options) -> Value {
    let names = Names::of(schema);
    let api = Api { schema, names: &names, options };
    let mut paths = Paths::default();
    for (entity, name) in names.entities() {
        api.reads(&mut paths, entity, name);
        if options.mutations {
            api.writes(&mut paths, entity, name);
        }
        if options.uploads.is_some() {
            api.uploads(&mut paths, entity, name);
        }
    }
    api.posted(&mut paths);
    api.sessions(&mut paths);
    api.files(&mut paths);
    api.playground(&mut paths);
    let mut document = json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {"title": options.title, "version": "1", "description": INTRODUCTION},
        "tags": names.entities().map(|(entity, _)| tag(entity)).collect::<Vec<_>>(),
        "paths": paths.0,
        "components": {
            "schemas": api.schemas(),
            "parameters": api.parameters(),
            "headers": parameter::headers(),
            "responses": failure::responses(options),
        },
    });
    if let Some(document) = document.as_object_mut().filter(|_| options.integrity.is_some()) {
        document.insert("security".to_owned(), json!([{"token": [], "signature": []}]));
        if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
            components.insert("securitySchemes".to_owned(), parameter::security());
        }
    }
    document
}

const INTRODUCTION: &str = "Reads take a query, a selection of fields and related records, and are answered with JSON \
    of exactly that shape. What is not selected is not in the answer.";

fn tag(entity: &Entity) -> Value {
    match &entity.description {
        Some(said) => json!({"name": entity.key, "description": said}),
        None => json!({"name": entity.key}),
    }
}

/// What the description is made from.
struct Api<'s> {
    schema: &'s Schema,
    names: &'s Names<'s>,
    options: &'s Options,
}

impl Api<'_> {
    /// The path of these segments under the base.
    fn path(&self, segments: &[Segment<'_>]) -> String {
        let mut path = self.options.base.clone();
        for segment in segments {
            path.push('/');
            match segment {
                Fixed(name) => percent(&mut path, name),
                Any(parameter) => path.push_str(&format!("{{{parameter}}}")),
            }
        }
        if path.is_empty() { "/".to_owned() } else { path }
    }

    /// The relations of an entity that lead to where something can be seen, with the target and its name.
    fn relations<'a>(
        &'a self,
        entity: &'a Entity,
    ) -> impl Iterator<Item = (&'a Relation, &'a Entity, &'a str)> {
        let seen = entity.relations.iter().filter(|relation| entity.member(&relation.name).is_some());
        seen.map(|relation| (relation, self.schema.entity(relation.target), self.names.get(relation.target)))
    }
}

/// A segment of a path.
#[derive(Clone, Copy)]
enum Segment<'a> {
    /// As it stands.
    Fixed(&'a str),
    /// A parameter.
    Any(&'static str),
}

/// Operations by path and method.
#[derive(Default)]
struct Paths(Map<String, Value>);

impl Paths {
    fn add(&mut self, path: String, method: &str, operation: Value) {
        let methods = self.0.entry(path).or_insert_with(|| json!({}));
        if let Some(methods) = methods.as_object_mut() {
            methods.insert(method.to_owned(), operation);
        }
    }

    /// The operation of a path that is described already.
    fn find(&mut self, path: &str, method: &str) -> Option<&mut Map<String, Value>> {
        self.0.get_mut(path)?.get_mut(method)?.as_object_mut()
    }
}

/// A reference to a component.
fn component(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}

/// A segment of a path with all escaped that does not stand for itself there.
fn percent(path: &mut String, segment: &str) {
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests;
