//! JSON Schema of the queries on a schema, for completion and validation in editors.
//!
//! A query that the schema rejects is always invalid. A query that it accepts may still be refused: bounds on depth and
//! size, cursors, and rules across several controls cannot be expressed.

mod controls;
mod filter;

use mesh_ql::Limits;
use mesh_schema::{Cardinality, Entity, Field, FieldType, Relation, Schema};
use serde_json::{Map, Value, json};

use crate::json::set;
use crate::members;
use crate::names::Names;

/// The JSON Schema dialect.
pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the JSON Schema of JSON queries on a schema, for collection and point reads. `SPEC §3`
pub fn of_queries(schema: &Schema, limits: &Limits) -> Value {
    let names = Names::new(schema, &[], &[]);
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

/// Returns the definition of one of these names. Without names, no value satisfies it, because an empty `enum` is
/// invalid.
fn one_of(names: &[impl AsRef<str>]) -> Value {
    if names.is_empty() {
        return Value::Bool(false);
    }
    json!({"enum": names.iter().map(AsRef::as_ref).collect::<Vec<&str>>()})
}

/// A writer of the definitions of one entity.
struct Writer<'s> {
    schema: &'s Schema,
    names: &'s Names<'s>,
    entity: &'s Entity,
    name: &'s str,
    limits: &'s Limits,
}

/// Returns the condition that a list is grouped by a bucket.
fn has_buckets() -> Value {
    json!({"required": ["$groupBy"], "properties": {"$groupBy": {"contains": {"type": "object"}}}})
}

impl Writer<'_> {
    fn definitions(&self, defs: &mut Map<String, Value>) {
        let mut define = |part: &str, value: Value| {
            defs.insert(format!("{}.{part}", self.name), value);
        };
        define("select", self.select());
        define("alias", self.alias());
        let relation = json!({"type": "string"});
        let some_selected = json!({"$ref": reference(self.name, "select"), "minProperties": 1});
        define("one", node(json!({"$relation": relation, "$select": some_selected})));
        let mut many = self.list();
        set(&mut many, "$relation", relation);
        set(&mut many, "$page", controls::page(self.limits, false));
        let mut many = node(many);
        set(&mut many, "allOf", self.rules(false));
        define("many", many);
        let mut root = self.list();
        set(&mut root, "$page", controls::page(self.limits, true));
        set(&mut root, "$distinct", controls::names(&controls::groupable(self.entity), self.limits));
        let mut root = node(root);
        set(&mut root, "allOf", self.rules(true));
        define("root", root);
        define("orderBy", controls::order(self, self.limits));
        define("fold", controls::fold(self.entity));
        define("where", filter::tree(self));
        define("having", filter::having(self));
    }

    fn part(&self, part: &str) -> Value {
        json!({"$ref": reference(self.name, part)})
    }

    /// Returns the selection: fields in document order, relations, and aliases.
    fn select(&self) -> Value {
        let mut all = Map::new();
        for field in members::fields(self.entity) {
            let kind = field.ty.map_or("scalar", FieldType::as_str);
            let description = described(field.description.as_deref(), kind);
            all.insert(field.name.clone(), json!({"const": true, "description": description}));
        }
        for computed in members::computed(self.entity) {
            all.insert(
                computed.name.clone(),
                json!({"const": true, "description": described(computed.description.as_deref(), "computed")}),
            );
        }
        for relation in members::relations(self.entity) {
            let part = Cardinality::as_str(relation.cardinality);
            let description = format!("{part} of {}", self.schema.entity(relation.target).key);
            let target = reference(self.names.get(relation.target), part);
            let selected =
                json!({"$ref": target, "properties": {"$relation": false}, "description": description});
            all.insert(relation.name.clone(), selected);
        }
        let known: Vec<_> = all.keys().cloned().collect();
        json!({
            "type": "object",
            "properties": all,
            "propertyNames": {"anyOf": [one_of(&known), {"pattern": filter::ALIAS}]},
            "additionalProperties": self.part("alias"),
        })
    }

    /// Returns the definition of the target of an alias: a field, a part of one, or a relation with its node. `SPEC §14.4`,
    /// `SPEC §22.1`
    fn alias(&self) -> Value {
        let fields = members::fields(self.entity).map(|field| &field.name);
        let computed = members::computed(self.entity).map(|computed| &computed.name);
        let names: Vec<_> = fields.chain(computed).collect();
        let field = json!({
            "properties": {"$field": one_of(&names)}, "required": ["$field"], "additionalProperties": false,
        });
        let documents = members::fields(self.entity).filter(|field| field.ty == Some(FieldType::Json));
        let documents: Vec<_> = documents.map(|field| &field.name).collect();
        let part = json!({
            "properties": {"$field": one_of(&documents), "at": {"type": "string", "pattern": filter::POINTER}},
            "required": ["$field", "at"],
            "additionalProperties": false,
        });
        let relations = members::relations(self.entity).map(|relation| {
            let part = Cardinality::as_str(relation.cardinality);
            let target = reference(self.names.get(relation.target), part);
            let named = json!({"$relation": {"const": relation.name}});
            json!({"properties": named, "required": ["$relation"], "$ref": target})
        });
        let part = (!documents.is_empty()).then_some(part);
        let forms: Vec<_> = [field].into_iter().chain(part).chain(relations).collect();
        json!({"type": "object", "oneOf": forms})
    }

    /// Returns the properties of all nodes of lists. [`Self::names_of_buckets`] has those that may have names of buckets.
    fn list(&self) -> Value {
        json!({
            "$select": true,
            "$where": self.part("where"),
            "$orderBy": true,
            "$groupBy": controls::group_keys(self.entity, self.limits),
            "$aggregate": controls::aggregate(&self.part("fold"), self.limits),
            "$having": true,
        })
    }

    /// Returns the rule for the properties that name the buckets of `$groupBy`, which JSON Schema cannot look up.
    fn names_of_buckets(&self) -> Value {
        let some = json!({"type": "object", "additionalProperties": {"const": true}});
        let buckets = json!({"$select": some, "$orderBy": {"type": "array"}, "$having": {"type": "object"}});
        let fields = json!({
            "$select": self.part("select"), "$orderBy": self.part("orderBy"), "$having": self.part("having"),
        });
        json!({"if": has_buckets(), "then": {"properties": buckets}, "else": {"properties": fields}})
    }

    /// Returns the rules that involve several controls of a list. Groups and distinct items have only their keys. The
    /// selection may be empty only with aggregates. The aggregates of a relation are one object, unless they are
    /// grouped. `SPEC §3.8`, `SPEC §3.12`, `SPEC §14.5`
    fn rules(&self, at_root: bool) -> Vec<Value> {
        let groupable = controls::groupable(self.entity);
        let keys: Map<_, _> = groupable.iter().map(|name| (name.clone(), json!(true))).collect();
        let has = |control: &str| json!({"required": [control]});
        let any = |controls: &[&str]| json!({"anyOf": controls.iter().copied().map(has).collect::<Vec<_>>()});
        let keys = json!({"properties": {
            "$select": {"properties": keys, "additionalProperties": false},
            "$orderBy": controls::group_order(self.entity),
        }});
        let some = json!({"properties": {"$select": {"minProperties": 1}}});
        let no_alias =
            json!({"properties": {"$orderBy": {"items": {"properties": {"aggregate": {"type": "object"}}}}}});
        let no_search = json!({"properties": {"$orderBy": {"items": {"properties": {"search": false}}}}});
        let mut rules = vec![
            json!({"if": any(&["$aggregate", "$groupBy", "$distinct"]), "then": {"if": has_buckets(), "else": keys}, "else": no_alias}),
            self.names_of_buckets(),
            json!({"if": {"not": has("$aggregate")}, "then": some}),
        ];
        if at_root {
            let grouped = any(&["$aggregate", "$groupBy"]);
            rules.push(json!({"if": has("$having"), "then": grouped}));
            rules.push(json!({"if": has("$distinct"), "then": {"not": grouped}}));
        } else {
            let list = json!({"not": any(&["$orderBy", "$page", "$having"])});
            let object = json!({"allOf": [list, {"properties": {"$select": {"maxProperties": 0}}}]});
            rules.push(no_search);
            rules.push(
                json!({"if": has("$groupBy"), "then": has("$aggregate"), "else": {"not": has("$having")}}),
            );
            rules.push(
                json!({"if": {"allOf": [has("$aggregate"), {"not": has("$groupBy")}]}, "then": object}),
            );
        }
        rules
    }

    /// Returns the names of the fields that satisfy a condition, in this entity and at the end of paths through one
    /// to-one relation. `SPEC §14.2`
    fn paths(&self, is_wanted: impl Fn(&Field) -> bool) -> Vec<String> {
        let here = members::fields(self.entity).filter(|field| is_wanted(field));
        let mut all: Vec<_> = here.map(|field| field.name.clone()).collect();
        for relation in to_one(self.entity) {
            let target = self.schema.entity(relation.target);
            let there = members::fields(target).filter(|field| is_wanted(field));
            all.extend(there.map(|field| format!("{}.{}", relation.name, field.name)));
        }
        all
    }

    /// Returns the form of paths through two or more to-one relations; `None` if there are none.
    fn long_paths(&self) -> Option<Value> {
        let hops = to_one(self.entity).flat_map(|first| {
            let second = to_one(self.schema.entity(first.target));
            second.map(|second| format!("{}\\.{}", escape(&first.name), escape(&second.name)))
        });
        let hops: Vec<_> = hops.collect();
        let pattern = format!("^({})(\\.[^.]+)+$", hops.join("|"));
        (!hops.is_empty()).then(|| json!({"type": "string", "pattern": pattern}))
    }
}

fn to_one(entity: &Entity) -> impl Iterator<Item = &Relation> {
    members::relations(entity).filter(|relation| relation.cardinality == Cardinality::One)
}

/// Escapes a name in a pattern.
fn escape(name: &str) -> String {
    let mut escaped = String::new();
    for letter in name.chars() {
        if r"^$\.*+?()[]{}|/".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn node(properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": ["$select"], "additionalProperties": false})
}

/// Returns the description of a member with its kind.
fn described(description: Option<&str>, kind: &str) -> String {
    description.map_or_else(|| kind.to_owned(), |description| format!("{description} ({kind})"))
}

#[cfg(test)]
mod tests;
