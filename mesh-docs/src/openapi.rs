//! An OpenAPI 3.1 description of a server.
//!
//! Each entity has its own paths, so that tools list them. The selection of a request is in a header, which this
//! description does not cover, so every member of a response is optional; [`crate::json_schema`] describes queries.

mod components;
mod failures;
mod parameters;
mod reads;
mod schemas;
mod security;
mod sessions;
mod uploads;
mod writes;

use std::collections::HashSet;

use mesh_plan::persisted::Registration;
use mesh_schema::{Entity, Schema};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::json::set;
use crate::json_schema::DIALECT;
use crate::names::{Names, folded};

/// The features of the described server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a profile of the protocol, on or off")]
pub struct OpenApiOptions {
    /// The title of the description.
    pub title: String,
    /// The base path of all routes; empty for the root.
    pub base: String,
    /// Logins and signed requests.
    pub integrity: Option<Bound>,
    /// Bearers of an issuer, or API keys.
    pub bearers: bool,
    /// Whether requests without any credential are accepted.
    pub anonymous: bool,
    /// Whether bearers and requests without a credential must not read while signatures are required. `SPEC §17.5`
    pub signed_only: bool,
    /// Persisted queries, and who may register them.
    pub persisted: Option<Registration>,
    /// Whether only persisted queries are accepted.
    pub only: bool,
    /// Event streams.
    pub events: bool,
    /// Exports of lists.
    pub exports: bool,
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

impl OpenApiOptions {
    /// Returns whether callers identify themselves.
    fn identifies(&self) -> bool {
        self.integrity.is_some() || self.bearers
    }

    /// Creates the options of a server at a base path without optional profiles.
    pub fn new(base: impl Into<String>) -> Self {
        Self { title: "Mesh".to_owned(), base: base.into(), ..Self::default() }
    }
}

/// Returns the description of a server as a JSON document.
pub fn document(schema: &Schema, options: &OpenApiOptions) -> Value {
    let names = Names::new(schema, &components::OWN, &["created", "updated"]);
    let mut api = Api { schema, names: &names, options, paths: Map::new(), operations: HashSet::new() };
    for (entity, name) in names.entities() {
        api.reads(entity, name);
        if options.mutations {
            api.writes(entity, name);
        }
        if options.uploads.is_some() {
            api.uploads(entity, name);
        }
    }
    api.batch();
    api.reads_by_post();
    api.sessions();
    api.files();
    api.playground();
    let mut components = json!({
        "schemas": api.schemas(),
        "parameters": api.parameters(),
        "headers": parameters::headers(),
        "responses": failures::responses(options),
    });
    if options.identifies() {
        set(&mut components, "securitySchemes", security::schemes(options));
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {"title": options.title, "version": "1", "description": INTRODUCTION},
        "tags": names.entities().map(|(entity, _)| tag(entity)).collect::<Vec<_>>(),
        "paths": api.paths,
        "components": components,
    });
    if options.identifies() {
        set(&mut document, "security", security::read_requirements(options));
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

/// A description under construction.
struct Api<'s> {
    schema: &'s Schema,
    names: &'s Names<'s>,
    options: &'s OpenApiOptions,
    /// Operations by path and method.
    paths: Map<String, Value>,
    /// The ids of the operations, folded.
    operations: HashSet<String>,
}

impl Api<'_> {
    /// Returns the path of a route below the base.
    fn path(&self, name: &str) -> String {
        format!("{}/{}", self.options.base, segment(name))
    }

    /// Adds an operation. Its id is changed if generators of code would not distinguish it from that of another one.
    fn add(&mut self, path: &str, method: &str, mut operation: Value) {
        let id = operation.get("operationId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let numbered = (2..).map(|number| format!("{id}.{number}"));
        let unique =
            std::iter::once(id.clone()).chain(numbered).find(|id| self.operations.insert(folded(id)));
        set(&mut operation, "operationId", unique.unwrap_or(id));
        set(self.paths.entry(path).or_insert_with(|| json!({})), method, operation);
    }

    /// Adds an operation whose security requirements may be stricter than those of a read.
    fn add_write(&mut self, path: &str, method: &str, mut operation: Value) {
        if let Some(security) = security::write_requirements(self.options) {
            set(&mut operation, "security", security);
        }
        self.add(path, method, operation);
    }
}

/// Escapes a name as a segment of a path.
fn segment(name: &str) -> PercentEncode<'_> {
    utf8_percent_encode(name, ESCAPED)
}

/// Returns a reference to a component.
fn component(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}

#[cfg(test)]
mod tests;
