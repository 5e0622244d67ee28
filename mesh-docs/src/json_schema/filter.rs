//! Definitions of filters and of their values by field type. `SPEC §3.7`

use mesh_ql::{FilterOp, Limits, Quantifier};
use mesh_schema::FieldType;
use serde_json::{Map, Value, json};

use super::{Writer, one_of, reference};
use crate::json::set;
use crate::{literal_kind, members};

/// The patterns of JSON Pointers and of names that a query introduces. `SPEC §3.8`, `SPEC §14.8`
pub(super) const POINTER: &str = "^(/([^~/]|~[01])*)*$";
pub(super) const ALIAS: &str = "^[A-Za-z_][A-Za-z0-9_]{0,63}$";

/// Returns the filter tree of `$where`, which refers to itself as `where`.
pub(super) fn tree(of: &Writer<'_>) -> Value {
    let mut rules = Vec::new();
    for ty in types() {
        let paths = of.paths(|field| literal_kind(field.ty) == literal_kind(ty));
        if !paths.is_empty() {
            rules.push(rule(&json!({"enum": paths}), &address(ty)));
        }
    }
    let mut field = vec![one_of(&of.paths(|_| true))];
    if let Some(long) = of.long_paths() {
        rules.push(rule(&long, "#/$defs/is.any"));
        field.push(long);
    }
    let mut relations: Vec<&str> = Vec::new();
    for relation in members::relations(of.entity) {
        relations.push(&relation.name);
        let named = json!({"properties": {"relation": {"const": relation.name}}, "required": ["relation"]});
        let target = reference(of.names.get(relation.target), "where");
        rules.push(json!({"if": named, "then": {"properties": {"where": {"$ref": target}}}}));
    }
    let mut properties = json!({
        "field": any_of(field),
        "at": {"type": "string", "pattern": POINTER},
        "relation": one_of(&relations),
        "op": true,
        "value": true,
        "where": true,
    });
    let operators = FilterOp::ALL.map(FilterOp::as_str);
    let compared = json!({
        "required": ["field", "op"],
        "properties": {"op": {"enum": operators}, "relation": false, "where": false},
    });
    let others = json!({"field": false, "at": false, "value": false});
    let with = |mut form: Value, op: Value| {
        let mut properties = others.clone();
        set(&mut properties, "op", op);
        set(&mut form, "properties", properties);
        form
    };
    let every = Quantifier::Every.as_str();
    let related = [
        with(json!({"required": ["relation", "op", "where"]}), json!({"const": every})),
        with(
            json!({"required": ["relation", "op"]}),
            json!({"enum": [Quantifier::Some.as_str(), Quantifier::None.as_str()]}),
        ),
    ];
    let mut forms: Vec<_> = [compared].into_iter().chain(related).collect();
    if of.entity.search.is_some() {
        set(&mut properties, "search", or_param(json!({"type": "string"})));
        forms.push(json!({"required": ["search"], "maxProperties": 1}));
    }
    combined(properties, &reference(of.name, "where"), forms, rules)
}

/// Returns the filter tree of `$having`, which refers to itself as `having`.
pub(super) fn having(of: &Writer<'_>) -> Value {
    let mut rules = vec![json!({"if": {"required": ["aggregate"]}, "then": {"$ref": address(None)}})];
    for ty in types() {
        let fields: Vec<_> =
            members::fields(of.entity).filter(|field| field.ty == ty).map(|field| &field.name).collect();
        if !fields.is_empty() {
            rules.push(rule(&json!({"enum": fields}), &address(ty)));
        }
    }
    let names: Vec<_> = members::fields(of.entity).map(|field| &field.name).collect();
    let properties = json!({
        "field": one_of(&names),
        "aggregate": {"type": "string"},
        "op": {"enum": FilterOp::ALL.map(FilterOp::as_str)},
        "value": true,
    });
    let forms = vec![json!({"required": ["field", "op"]}), json!({"required": ["aggregate", "op"]})];
    combined(properties, &reference(of.name, "having"), forms, rules)
}

/// Returns the rule for conditions on the given fields.
fn rule(fields: &Value, then: &str) -> Value {
    json!({"if": {"properties": {"field": fields}, "required": ["field"]}, "then": {"$ref": then}})
}

/// Returns a tree of conditions with these properties, forms and rules, which refers to itself as `reference`.
fn combined(mut properties: Value, reference: &str, mut forms: Vec<Value>, rules: Vec<Value>) -> Value {
    let below = json!({"$ref": reference});
    let list = json!({"type": "array", "items": below, "minItems": 1});
    for (name, value) in [("and", &list), ("or", &list), ("not", &below)] {
        set(&mut properties, name, value.clone());
        forms.push(json!({"required": [name], "maxProperties": 1}));
    }
    let mut tree =
        json!({"type": "object", "properties": properties, "oneOf": forms, "additionalProperties": false});
    if !rules.is_empty() {
        set(&mut tree, "allOf", rules);
    }
    tree
}

/// Returns the definition of values that satisfy at least one of several definitions.
fn any_of(mut all: Vec<Value>) -> Value {
    if all.len() == 1 { all.remove(0) } else { json!({"anyOf": all}) }
}

/// Returns the definition of a value, or of a parameter instead of the value. `SPEC §19.1`
pub(super) fn or_param(value: Value) -> Value {
    json!({"anyOf": [value, {"$ref": "#/$defs/param"}]})
}

/// Adds the definitions of parameters and of conditions by field type: operators with their values.
pub(super) fn kinds(defs: &mut Map<String, Value>, limits: &Limits) {
    let param = json!({
        "type": "object",
        "properties": {"$param": {"type": "string", "pattern": ALIAS}},
        "required": ["$param"],
        "additionalProperties": false,
    });
    defs.insert("param".to_owned(), param);
    let list =
        |items: Value| json!({"type": "array", "items": or_param(items), "maxItems": limits.in_values});
    let scalar = || json!({"type": ["string", "number", "boolean"]});
    let lists = |min: usize| {
        let list_of = |ty| {
            let mut list = list(json!({"type": ty}));
            if min > 0 {
                set(&mut list, "minItems", min);
            }
            list
        };
        or_param(any_of(["string", "number", "boolean"].map(list_of).into()))
    };
    let elements = [comparison(&["has"], &or_param(scalar())), comparison(&["hasAny", "hasAll"], &lists(1))];
    for ty in types() {
        let mut forms = vec![null_tests()];
        if ty == Some(FieldType::Json) {
            forms.extend(elements.clone());
        }
        if let Some(literal) = literal(ty) {
            let compared: &[&str] = match ty {
                Some(FieldType::Uuid) => &["eq", "ne"],
                _ => &["eq", "ne", "gt", "gte", "lt", "lte"],
            };
            forms.push(comparison(compared, &or_param(literal.clone())));
            forms.push(comparison(&["in", "nin"], &or_param(list(literal))));
            if matches!(ty, None | Some(FieldType::String)) {
                forms.push(comparison(&["like", "ilike"], &or_param(json!({"type": "string"}))));
            }
        }
        let stored = json!({"oneOf": forms, "properties": {"at": false}});
        let definition = match ty {
            Some(FieldType::Json) => {
                json!({"if": {"required": ["at"]}, "then": {"$ref": "#/$defs/is.found"}, "else": stored})
            }
            _ => stored,
        };
        defs.insert(format!("is.{}", literal_kind(ty)), definition);
    }
    let mut found = vec![
        null_tests(),
        comparison(&["eq", "ne", "gt", "gte", "lt", "lte"], &or_param(scalar())),
        comparison(&["in", "nin"], &lists(0)),
        comparison(&["like", "ilike"], &or_param(json!({"type": "string"}))),
    ];
    found.extend(elements);
    defs.insert("is.found".to_owned(), json!({"oneOf": found}));
    // The field at the end of a long path is not known.
    let any = json!({"anyOf": [{"$ref": "#/$defs/is.found"}, {"$ref": address(None)}]});
    defs.insert("is.any".to_owned(), any);
}

fn null_tests() -> Value {
    json!({"properties": {"op": {"enum": ["isNull", "isNotNull"]}, "value": false}})
}

fn comparison(operators: &[&str], value: &Value) -> Value {
    json!({"properties": {"op": {"enum": operators}, "value": value}, "required": ["value"]})
}

/// Iterates over all types; `None` is an unknown type.
fn types() -> impl Iterator<Item = Option<FieldType>> {
    FieldType::ALL.into_iter().map(Some).chain([None])
}

fn address(ty: Option<FieldType>) -> String {
    format!("#/$defs/is.{}", literal_kind(ty))
}

/// Returns the values that a field of the type is compared with; `None` for types without comparisons.
fn literal(ty: Option<FieldType>) -> Option<Value> {
    use FieldType::{
        Bigint, Binary, Boolean, Date, Datetime, Decimal, Integer, Json, Number, String, Unsigned, Uuid,
    };
    let text_like = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let whole = json!({"type": "integer"});
    Some(match ty {
        None => json!({"type": ["string", "number", "boolean"]}),
        Some(String) => json!({"type": "string"}),
        Some(Integer) => whole,
        Some(Bigint | Unsigned) => json!({"anyOf": [whole, text_like("^[+-]?[0-9]+$")]}),
        Some(Number) => json!({"type": "number"}),
        Some(Decimal) => json!({"anyOf": [{"type": "number"}, text_like("^-?[0-9]+(\\.[0-9]+)?$")]}),
        Some(Boolean) => json!({"type": "boolean"}),
        Some(Datetime | Date) => text_like("^[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        Some(Uuid) => text_like("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
        Some(Json | Binary) => return None,
    })
}
