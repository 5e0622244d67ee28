//! Definitions of order, page, group and aggregate controls. `SPEC §3.8` to `SPEC §3.13`

use mesh_ql::{Direction, Limits, Nulls};
use mesh_schema::{Entity, FieldType};
use serde_json::{Value, json};

use super::one_of;
use crate::json::set;
use crate::members;

/// Returns the fields of an entity, except those of the given types.
pub(super) fn fields(entity: &Entity, without: &[FieldType]) -> Vec<String> {
    let fit = members::fields(entity).filter(|field| field.ty.is_none_or(|ty| !without.contains(&ty)));
    fit.map(|field| field.name.clone()).collect()
}

/// Returns the fields that can be group keys.
pub(super) fn groupable(entity: &Entity) -> Vec<String> {
    fields(entity, &[FieldType::Json])
}

/// Returns the definition of `$groupBy` and `$distinct`.
pub(super) fn names(fields: &[String], limits: &Limits) -> Value {
    list(&one_of(fields), 1, limits.group_keys)
}

fn list(items: &Value, at_least: usize, at_most: usize) -> Value {
    json!({"type": "array", "items": items, "minItems": at_least, "maxItems": at_most, "uniqueItems": true})
}

/// Returns the definition of `$orderBy`, which at roots accepts aggregates.
pub(super) fn order(entity: &Entity, limits: &Limits, at_root: bool) -> Value {
    let field = one_of(&groupable(entity));
    let direction = json!({"enum": Direction::ALL.map(Direction::name)});
    let nulls = json!({"enum": Nulls::ALL.map(Nulls::name)});
    let mut properties = json!({"field": field, "direction": direction, "nulls": nulls});
    let mut keys = vec![json!({"required": ["field"]})];
    if at_root {
        set(&mut properties, "aggregate", json!({"type": "string"}));
        keys.push(json!({"required": ["aggregate"]}));
    }
    let items = json!({
        "type": "object",
        "properties": properties,
        "required": ["direction"],
        "oneOf": keys,
        "additionalProperties": false,
    });
    list(&items, 0, limits.group_keys)
}

/// Returns the definition of `$page`.
pub(super) fn page(limits: &Limits, after: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {"first": {"type": "integer", "minimum": 1, "maximum": limits.page_max}, "after": after},
        "additionalProperties": false,
    })
}

/// Returns the definition of `$aggregate`.
pub(super) fn aggregate(entity: &Entity, limits: &Limits) -> Value {
    use FieldType::{Binary, Boolean, Date, Datetime, Json, String, Uuid};
    let mut countable = fields(entity, &[]);
    countable.push("*".to_owned());
    let numeric = fields(entity, &[String, Boolean, Datetime, Date, Json, Binary, Uuid]);
    let ordered = fields(entity, &[Boolean, Json, Binary, Uuid]);
    let counted = json!({
        "properties": {"fn": {"const": "count"}, "field": one_of(&countable), "distinct": {"const": false}},
    });
    let each_counted = json!({
        "properties": {"fn": {"const": "count"}, "field": one_of(&groupable(entity)), "distinct": {"const": true}},
        "required": ["field", "distinct"],
    });
    let over = |functions: [&str; 2], fields: &[std::string::String]| json!({"properties": {"fn": {"enum": functions}, "field": one_of(fields)}, "required": ["field"]});
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": limits.aggregates,
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"},
        "additionalProperties": {
            "type": "object",
            "properties": {
                "fn": {"enum": mesh_ql::AggregateFn::ALL.map(mesh_ql::AggregateFn::name)},
                "field": {"type": "string"},
                "distinct": {"type": "boolean"},
            },
            "required": ["fn"],
            "additionalProperties": false,
            "oneOf": [counted, each_counted, over(["sum", "avg"], &numeric), over(["min", "max"], &ordered)],
        },
    })
}
