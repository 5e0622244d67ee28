//! Validation against the subset of JSON Schema that the schema of cases uses.

use serde_json::Value;

/// The supported keywords; any other keyword in a schema is reported.
const KEYWORDS: [&str; 19] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "minItems",
    "minLength",
    "minProperties",
    "examples",
    "minimum",
];

/// Returns one line for each violation of a schema in a document.
#[must_use]
pub fn violations(schema: &Value, document: &Value) -> Vec<String> {
    let mut out = Vec::new();
    check(schema, schema, document, "$", &mut out);
    out
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, out: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else { return };
    for keyword in rules.keys().filter(|keyword| !KEYWORDS.contains(&keyword.as_str())) {
        out.push(format!("{place}: the schema has the unknown keyword '{keyword}'"));
    }
    if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
        match root.pointer(name.trim_start_matches('#')) {
            Some(target) => check(root, target, value, place, out),
            None => out.push(format!("{place}: the schema has no {name}")),
        }
    }
    if let Some(kinds) = rules.get("type")
        && !names(kinds).iter().any(|kind| is(kind, value))
    {
        return out.push(format!("{place}: {kinds} expected, got {value:.80}"));
    }
    if let Some(allowed) = rules.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        out.push(format!("{place}: {value} is none of {allowed:?}"));
    }
    if rules.get("const").is_some_and(|only| only != value) {
        out.push(format!("{place}: {value} is not allowed"));
    }
    if let Some(any) = rules.get("anyOf").and_then(Value::as_array) {
        let fits = any.iter().any(|schema| {
            let mut inner = Vec::new();
            check(root, schema, value, place, &mut inner);
            inner.is_empty()
        });
        if !fits {
            out.push(format!("{place}: {value:.120} fits none of the alternatives"));
        }
    }
    let bound = |name: &str| rules.get(name).and_then(Value::as_u64);
    let size = value.as_array().map(Vec::len).or_else(|| value.as_str().map(|text| text.chars().count()));
    let size = size.or_else(|| value.as_object().map(serde_json::Map::len)).map(|size| size as u64);
    for name in ["minItems", "minLength", "minProperties"] {
        if bound(name).is_some_and(|least| size.is_some_and(|size| size < least)) {
            out.push(format!("{place}: less than {name}"));
        }
    }
    if let (Some(items), Some(list)) = (rules.get("items"), value.as_array()) {
        for (index, item) in list.iter().enumerate() {
            check(root, items, item, &format!("{place}[{index}]"), out);
        }
    }
    members(root, schema, value, place, out);
}

fn members(root: &Value, schema: &Value, value: &Value, place: &str, out: &mut Vec<String>) {
    let Some(members) = value.as_object() else { return };
    for name in schema.get("required").map(names).unwrap_or_default() {
        if !members.contains_key(name) {
            out.push(format!("{place}: '{name}' is missing"));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, member) in members {
        let place = format!("{place}.{name}");
        match (properties.and_then(|all| all.get(name)), schema.get("additionalProperties")) {
            (Some(schema), _) => check(root, schema, member, &place, out),
            (None, Some(Value::Bool(false))) => out.push(format!("{place}: no such member")),
            (None, Some(schema)) => check(root, schema, member, &place, out),
            (None, None) => {}
        }
    }
}

fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::String(one) => vec![one],
        other => other.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}
