//! An OpenAPI 3.1 description of a server.
//!
//! Each entity has its own paths, so that tools list them. The selection of a request is in a header, which this
//! description does not cover, so every member of a response is optional; [`crate::json_schema`] describes queries.

mod components;
mod failures;
mod parameters;
mod reads;
mod schemas;
mod sessions;
mod writes;

use mesh_plan::Registration;
use mesh_schema::{Entity, Relation, Schema};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use self::Segment::{Any, Fixed};
use crate::json_schema::DIALECT;
use crate::names::Names;

/// The features of the described server.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a profile of the protocol, on or off")]
pub struct Options {
    /// The title of the description.
    pub title: String,
    /// The base path of all routes; empty for the root.
    pub base: String,
    /// Logins and signed requests.
    pub integrity: Option<Bound>,
    /// Whether there are rate limits.
    pub rates: bool,
    /// Persisted queries, and who may register them.
    pub persisted: Option<Registration>,
    /// Whether only persisted queries are accepted.
    pub only: bool,
    /// Event streams.
    pub events: bool,
    /// Write routes.
    pub mutations: bool,
    /// Uploads, with the path segment below the base where files are served.
    pub uploads: Option<String>,
    /// The path of the playground.
    pub docs: Option<String>,
    /// Whether the data of the playground require a session.
    pub docs_guarded: bool,
}

/// How the server handles signatures bound to a single use. `SPEC §7.9`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Timestamp and nonce are ignored.
    Ignored,
    /// Timestamp and nonce are optional.
    Accepted,
    /// Timestamp and nonce are required.
    Required,
}

impl Options {
    /// Describes a server at a base path without optional profiles.
    pub fn new(base: impl Into<String>) -> Self {
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

/// Returns the description of a server as a JSON document.
pub fn document(schema: &Schema, options: &Options) -> Value {
    let names = Names::new(schema);
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
            "headers": parameters::headers(),
            "responses": failures::responses(options),
        },
    });
    if let Some(document) = document.as_object_mut().filter(|_| options.integrity.is_some()) {
        document.insert("security".to_owned(), json!([{"token": [], "signature": []}]));
        if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
            components.insert("securitySchemes".to_owned(), parameters::security());
        }
    }
    document
}

const INTRODUCTION: &str = "Reads take a query, which selects fields and related records, and return JSON of \
    exactly that shape. Fields that are not selected are not returned.";

fn tag(entity: &Entity) -> Value {
    match &entity.description {
        Some(description) => json!({"name": entity.key, "description": description}),
        None => json!({"name": entity.key}),
    }
}

/// Characters that are escaped in segments of paths: all but the unreserved ones.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The inputs of the description.
struct Api<'s> {
    schema: &'s Schema,
    names: &'s Names<'s>,
    options: &'s Options,
}

impl Api<'_> {
    /// Returns the path with these segments below the base.
    fn path(&self, segments: &[Segment<'_>]) -> String {
        let mut path = self.options.base.clone();
        for segment in segments {
            path.push('/');
            match segment {
                Fixed(name) => path.extend(utf8_percent_encode(name, ESCAPED)),
                Any(parameter) => path.push_str(&format!("{{{parameter}}}")),
            }
        }
        if path.is_empty() { "/".to_owned() } else { path }
    }

    /// Iterates over the visible relations of an entity with their targets and the names of the targets.
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
    /// A literal segment.
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

    /// Returns an operation that has been added.
    fn find(&mut self, path: &str, method: &str) -> Option<&mut Map<String, Value>> {
        self.0.get_mut(path)?.get_mut(method)?.as_object_mut()
    }
}

/// Returns a reference to a component.
fn component(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}

#[cfg(test)]
mod tests;
