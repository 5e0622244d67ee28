//! JSON Schema of the queries on a schema, for completion and validation in editors.
//!
//! A query that the schema rejects is always invalid. A query that it accepts may still be refused: bounds on depth and
//! size, cursors, and rules across several controls cannot be expressed.

mod controls;
mod filter;

use mesh_ql::Limits;
use mesh_schema::{Cardinality, Entity, FieldType, Schema};
use serde_json::{Map, Value, json};

use crate::json::set;
use crate::members;
use crate::names::Names;

/// The JSON Schema dialect.
pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the JSON Schema of JSON queries on a schema, for collection and point reads. `SPEC §3`
pub fn of_queries(schema: &Schema, limits: &Limits) -> Value {
    let names = Names::new(schema);
    let mut roots = Map::new();
    let mut defs = Map::new();
    for (entity, name) in names.entities() {
        roots.insert(entity.key.clone(), json!({"$ref": reference(name, "root")}));
        Writer { schema, names: &names, entity, name, limits }.definitions(&mut defs);
    }
    filter::kinds(&mut defs, limits);
    json!({
        "$schema": DIALECT,
        "title": "A query of a Mesh server",
        "type": "object",
        "properties": roots,
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
        "$defs": defs,
    })
}

/// Returns the reference to a definition of an entity.
fn reference(name: &str, part: &str) -> String {
    format!("#/$defs/{name}.{part}")
}

/// Returns the definition of one of these names. No value satisfies it if there are none: an empty `enum` is invalid.
fn one_of(names: &[impl AsRef<str>]) -> Value {
    if names.is_empty() {
        return Value::Bool(false);
    }
    json!({"enum": names.iter().map(AsRef::as_ref).collect::<Vec<&str>>()})
}

/// Writes the definitions of one entity.
struct Writer<'s> {
    schema: &'s Schema,
    names: &'s Names<'s>,
    entity: &'s Entity,
    name: &'s str,
    limits: &'s Limits,
}

impl Writer<'_> {
    fn definitions(&self, defs: &mut Map<String, Value>) {
        let mut define = |part: &str, value: Value| {
            defs.insert(format!("{}.{part}", self.name), value);
        };
        define(
            "select",
            json!({"type": "object", "properties": self.selectable(), "additionalProperties": false}),
        );
        define("one", node(json!({"$select": self.some_selected()})));
        define(
            "many",
            node(json!({
                "$select": self.some_selected(),
                "$where": self.part("where"),
                "$orderBy": controls::order(self.entity, self.limits, false),
                "$page": controls::page(self.limits, &json!({"type": "null"})),
            })),
        );
        define("where", filter::tree(self.entity, &reference(self.name, "where"), false));
        define("having", filter::tree(self.entity, &reference(self.name, "having"), true));
        define("root", self.root());
    }

    fn part(&self, part: &str) -> Value {
        json!({"$ref": reference(self.name, part)})
    }

    /// Returns a selection of at least one name.
    fn some_selected(&self) -> Value {
        json!({"$ref": reference(self.name, "select"), "minProperties": 1})
    }

    /// Returns the selectable names: fields in document order, then relations.
    fn selectable(&self) -> Map<String, Value> {
        let mut all = Map::new();
        for field in members::fields(self.entity) {
            let kind = field.ty.map(FieldType::name);
            let description = match (&field.description, kind) {
                (Some(description), Some(kind)) => format!("{description} ({kind})"),
                (Some(description), None) => description.clone(),
                (None, kind) => kind.unwrap_or("scalar").to_owned(),
            };
            all.insert(field.name.clone(), json!({"const": true, "description": description}));
        }
        for computed in members::computed(self.entity) {
            all.insert(computed.name.clone(), json!({"const": true, "description": "computed"}));
        }
        for relation in members::relations(self.entity) {
            let part = Cardinality::name(relation.cardinality);
            let description = format!("{part} of {}", self.schema.entity(relation.target).key);
            let target = reference(self.names.get(relation.target), part);
            all.insert(relation.name.clone(), json!({"$ref": target, "description": description}));
        }
        all
    }

    /// Returns the root node. With aggregates, groups or `$distinct` it selects fields only, and with aggregates it may
    /// select nothing.
    fn root(&self) -> Value {
        let groupable = controls::groupable(self.entity);
        let keys: Map<_, _> = groupable.iter().map(|name| (name.clone(), json!(true))).collect();
        let names = controls::names(&groupable, self.limits);
        let mut root = node(json!({
            "$select": self.part("select"),
            "$where": self.part("where"),
            "$orderBy": controls::order(self.entity, self.limits, true),
            "$page": controls::page(self.limits, &json!({"type": ["string", "null"]})),
            "$distinct": names,
            "$groupBy": names,
            "$aggregate": controls::aggregate(self.entity, self.limits),
            "$having": self.part("having"),
        }));
        let has = |control: &str| json!({"required": [control]});
        let grouped = json!({"anyOf": [has("$aggregate"), has("$groupBy"), has("$distinct")]});
        let keys = json!({"properties": {"$select": {"properties": keys, "additionalProperties": false}}});
        let some = json!({"properties": {"$select": {"minProperties": 1}}});
        let rules = json!([
            {"if": grouped, "then": keys},
            {"if": {"not": has("$aggregate")}, "then": some},
            {"if": has("$having"), "then": {"anyOf": [has("$aggregate"), has("$groupBy")]}},
            {"if": has("$distinct"), "then": {"not": {"anyOf": [has("$aggregate"), has("$groupBy")]}}},
        ]);
        set(&mut root, "allOf", rules);
        root
    }
}

fn node(properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": ["$select"], "additionalProperties": false})
}

#[cfg(test)]
mod tests;
