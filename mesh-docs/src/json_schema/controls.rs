//! Definitions of order, page, group and aggregate controls. `SPEC §3.8` to `SPEC §3.13`

use mesh_ql::{Direction, Limits, Nulls, TimeUnit};
use mesh_schema::{Cardinality, Entity, FieldType};
use serde_json::{Value, json};

use super::filter::{ALIAS, or_param};
use super::{Writer, one_of, reference};
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

/// Returns the definition of `$groupBy`. `SPEC §21.1`
pub(super) fn group_keys(entity: &Entity, limits: &Limits) -> Value {
    let of_type = |ty: FieldType| members::fields(entity).filter(move |field| field.ty == Some(ty));
    let names = |ty| of_type(ty).map(|field| field.name.clone()).collect::<Vec<_>>();
    let (times, days) = (names(FieldType::Datetime), names(FieldType::Date));
    let mut keys = vec![one_of(&groupable(entity))];
    let is_long = |unit: &TimeUnit| !unit.is_within_day();
    let bucket = |fields: &[String], units: &[TimeUnit], zone: Value| {
        json!({
            "type": "object",
            "properties": {
                "field": one_of(fields),
                "by": {"enum": units.iter().map(|unit| unit.as_str()).collect::<Vec<_>>()},
                "as": {"type": "string", "pattern": ALIAS},
                "zone": zone,
            },
            "required": ["field", "by", "as"],
            "additionalProperties": false,
        })
    };
    let (long, short): (Vec<_>, Vec<_>) = TimeUnit::ALL.into_iter().partition(is_long);
    if !times.is_empty() {
        keys.push(bucket(&times, &long, json!({"type": "string"})));
        keys.push(bucket(&times, &short, json!(false)));
    }
    if !days.is_empty() {
        keys.push(bucket(&days, &long, json!(false)));
    }
    list(&json!({"anyOf": keys}), 1, limits.group_keys)
}

/// Returns the definition of `$distinct`.
pub(super) fn names(fields: &[String], limits: &Limits) -> Value {
    list(&one_of(fields), 1, limits.group_keys)
}

fn list(items: &Value, at_least: usize, at_most: usize) -> Value {
    json!({"type": "array", "items": items, "minItems": at_least, "maxItems": at_most, "uniqueItems": true})
}

/// Returns the definition of `$orderBy`. The rules of lists other than roots exclude the order by relevance.
pub(super) fn order(of: &Writer<'_>, limits: &Limits) -> Value {
    let mut fields = vec![one_of(&of.paths(|field| field.ty != Some(FieldType::Json)))];
    fields.extend(of.long_paths());
    let to_many: Vec<_> =
        members::relations(of.entity).filter(|relation| relation.cardinality == Cardinality::Many).collect();
    let names: Vec<_> = to_many.iter().map(|relation| &relation.name).collect();
    let rules: Vec<_> = to_many
        .iter()
        .map(|relation| {
            let named =
                json!({"properties": {"relation": {"const": relation.name}}, "required": ["relation"]});
            let function = reference(of.names.get(relation.target), "fold");
            json!({"if": named, "then": {"properties": {"aggregate": {"$ref": function}}}})
        })
        .collect();
    let mut items = json!({
        "type": "object",
        "properties": {
            "field": {"anyOf": fields},
            "aggregate": {"type": ["string", "object"]},
            "relation": one_of(&names),
            "direction": {"enum": Direction::ALL.map(Direction::as_str)},
            "nulls": {"enum": Nulls::ALL.map(Nulls::as_str)},
        },
        "required": ["direction"],
        "oneOf": [
            {"required": ["field"], "properties": {"aggregate": false, "relation": false}},
            {"required": ["aggregate"], "properties": {"aggregate": {"type": "string"}, "field": false, "relation": false}},
            {"required": ["relation", "aggregate"], "properties": {"aggregate": {"type": "object"}, "field": false}},
        ],
        "additionalProperties": false,
    });
    if !rules.is_empty() {
        set(&mut items, "allOf", rules);
    }
    let mut orders = list(&items, 0, limits.group_keys);
    if of.entity.search.is_some() {
        let relevance = json!({"type": "object", "properties": {"search": {"const": "relevance"}},
            "required": ["search"], "additionalProperties": false});
        let other = reference(of.name, "orderBy/items");
        set(&mut orders, "prefixItems", json!([{"anyOf": [relevance, {"$ref": other}]}]));
    }
    orders
}

/// Returns the restriction of `$orderBy` in groups and distinct items to their keys and aliases.
pub(super) fn group_order(entity: &Entity) -> Value {
    let field = one_of(&groupable(entity));
    json!({"items": {"properties": {"field": field, "relation": false, "search": false}}})
}

/// Returns the definition of `$page`, with cursors and totals at a root.
pub(super) fn page(limits: &Limits, at_root: bool) -> Value {
    let size = or_param(json!({"type": "integer", "minimum": 1, "maximum": limits.page_max}));
    let skip = or_param(json!({"type": "integer", "minimum": 0, "maximum": limits.skip}));
    let nothing = json!({"type": "null"});
    let properties = if at_root {
        let cursor = or_param(json!({"type": ["string", "null"]}));
        json!({"first": size, "after": cursor, "last": size, "before": cursor, "skip": skip, "total": {"const": true}})
    } else {
        json!({"first": size, "after": nothing, "last": size, "before": nothing, "skip": skip})
    };
    let has = |names: &[&str]| {
        let has: Vec<_> = names.iter().map(|name| json!({"required": [name]})).collect();
        json!({"anyOf": has})
    };
    let combine = |names: &[&str], others: &[&str]| json!({"allOf": [has(names), has(others)]});
    json!({
        "type": "object",
        "properties": properties,
        "dependentRequired": {"before": ["last"]},
        "not": {"anyOf": [
            combine(&["first", "after"], &["last", "before"]),
            combine(&["skip"], &["after", "last", "before"]),
        ]},
        "additionalProperties": false,
    })
}

/// Returns the definition of `$aggregate`.
pub(super) fn aggregate(function: &Value, limits: &Limits) -> Value {
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": limits.aggregates,
        "propertyNames": {"pattern": ALIAS},
        "additionalProperties": function,
    })
}

/// Returns the definition of an aggregate function of an entity's records.
pub(super) fn fold(entity: &Entity) -> Value {
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
        "properties": {
            "fn": {"enum": mesh_ql::AggregateFn::ALL.map(mesh_ql::AggregateFn::as_str)},
            "field": {"type": "string"},
            "distinct": {"type": "boolean"},
        },
        "required": ["fn"],
        "additionalProperties": false,
        "oneOf": [counted, each_counted, over(["sum", "avg"], &numeric), over(["min", "max"], &ordered)],
    })
}
