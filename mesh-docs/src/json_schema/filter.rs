//! Definitions of filters and of their values by field type. `SPEC §3.7`

use mesh_ql::{FilterOp, Limits};
use mesh_schema::{Entity, FieldType};
use serde_json::{Map, Value, json};

use super::one_of;
use crate::json::set;
use crate::members;

/// Returns the filter tree of an entity, which refers to itself as `reference`. In `$having` it accepts aggregates.
pub(super) fn tree(entity: &Entity, reference: &str, having: bool) -> Value {
    let fields = members::fields(entity);
    let names: Vec<_> = fields.clone().map(|field| &field.name).collect();
    let below = json!({"$ref": reference});
    let list = json!({"type": "array", "items": below, "minItems": 1});
    let operators = FilterOp::ALL.map(FilterOp::name);
    let mut properties = json!({
        "field": one_of(&names),
        "op": {"enum": operators},
        "value": true,
        "and": list,
        "or": list,
        "not": below,
    });
    let alone = |name: &str| json!({"required": [name], "maxProperties": 1});
    let mut forms = vec![json!({"required": ["field", "op"]}), alone("and"), alone("or"), alone("not")];
    // One rule per type, for all fields of that type.
    let mut rules: Vec<Value> = Vec::new();
    for ty in types() {
        let of_kind: Vec<_> =
            fields.clone().filter(|field| field.ty == ty).map(|field| &field.name).collect();
        if !of_kind.is_empty() {
            let named = json!({"properties": {"field": {"enum": of_kind}}, "required": ["field"]});
            rules.push(json!({"if": named, "then": {"$ref": address(ty)}}));
        }
    }
    if having {
        set(&mut properties, "aggregate", json!({"type": "string"}));
        forms.push(json!({"required": ["aggregate", "op"]}));
        rules.push(json!({"if": {"required": ["aggregate"]}, "then": {"$ref": address(None)}}));
    }
    let mut tree = json!({
        "type": "object",
        "properties": properties,
        "oneOf": forms,
        "additionalProperties": false,
    });
    if !rules.is_empty() {
        set(&mut tree, "allOf", rules);
    }
    tree
}

/// Adds the definitions of conditions by field type: operators with their values.
pub(super) fn kinds(defs: &mut Map<String, Value>, limits: &Limits) {
    for ty in types() {
        let op = |names: &[&str]| json!({"enum": names});
        let mut forms = vec![json!({"properties": {"op": op(&["isNull", "isNotNull"]), "value": false}})];
        if let Some(literal) = literal(ty) {
            let mut with = |names: &[&str], value: &Value| {
                forms.push(json!({"properties": {"op": op(names), "value": value}, "required": ["value"]}));
            };
            let compared: &[&str] = match ty {
                Some(FieldType::Uuid) => &["eq", "ne"],
                _ => &["eq", "ne", "gt", "gte", "lt", "lte"],
            };
            with(compared, &literal);
            with(&["in", "nin"], &json!({"type": "array", "items": literal, "maxItems": limits.in_values}));
            if matches!(ty, None | Some(FieldType::String)) {
                with(&["like", "ilike"], &json!({"type": "string"}));
            }
        }
        defs.insert(format!("is.{}", kind(ty)), json!({"oneOf": forms}));
    }
}

/// Iterates over all types; `None` stands for an unknown type.
fn types() -> impl Iterator<Item = Option<FieldType>> {
    FieldType::ALL.into_iter().map(Some).chain([None])
}

fn address(ty: Option<FieldType>) -> String {
    format!("#/$defs/is.{}", kind(ty))
}

fn kind(ty: Option<FieldType>) -> &'static str {
    ty.map_or("scalar", FieldType::name)
}

/// Returns the values that a field of the type is compared with; `None` for types without comparisons.
fn literal(ty: Option<FieldType>) -> Option<Value> {
    use FieldType::{Bigint, Binary, Boolean, Date, Datetime, Decimal, Integer, Json, Number, String, Uuid};
    let text_like = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let whole = json!({"type": "integer"});
    Some(match ty {
        None => json!({"type": ["string", "number", "boolean"]}),
        Some(String) => json!({"type": "string"}),
        Some(Integer) => whole,
        Some(Bigint) => json!({"anyOf": [whole, text_like("^[+-]?[0-9]+$")]}),
        Some(Number) => json!({"type": "number"}),
        Some(Decimal) => json!({"anyOf": [{"type": "number"}, text_like("^-?[0-9]+(\\.[0-9]+)?$")]}),
        Some(Boolean) => json!({"type": "boolean"}),
        Some(Datetime | Date) => text_like("^[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        Some(Uuid) => text_like("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
        Some(Json | Binary) => return None,
    })
}
