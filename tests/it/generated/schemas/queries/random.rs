//! Random queries of the blog that the server accepts.

use serde_json::{Map, Value, json};

use crate::support::dice::Dice;

/// Fields of an entity with their kinds, and where its relations lead.
struct Entity {
    name: &'static str,
    fields: &'static [(&'static str, &'static str)],
    one: &'static [(&'static str, usize)],
    many: &'static [(&'static str, usize)],
}

/// The inferred schema of the blog.
const BLOG: [Entity; 4] = [
    Entity {
        name: "user",
        fields: &[("id", "integer"), ("name", "string"), ("role", "string"), ("age", "integer")],
        one: &[("manager", 0)],
        many: &[("posts", 1), ("users", 0), ("comments", 2)],
    },
    Entity {
        name: "post",
        fields: &[
            ("id", "integer"),
            ("title", "string"),
            ("likes", "integer"),
            ("score", "number"),
            ("published", "boolean"),
            ("createdAt", "datetime"),
            ("attributes", "json"),
            ("picture", "binary"),
        ],
        one: &[("author", 0)],
        many: &[("comments", 2), ("tags", 3)],
    },
    Entity {
        name: "comment",
        fields: &[("id", "integer"), ("text", "string")],
        one: &[("post", 1), ("user", 0)],
        many: &[],
    },
    Entity {
        name: "tag",
        fields: &[("id", "integer"), ("label", "string")],
        one: &[],
        many: &[("posts", 1)],
    },
];

fn literal(dice: &mut Dice, kind: &str) -> Value {
    match kind {
        "integer" => dice.one(&[json!(1), json!(-7), json!(2.0), json!(1e3)]).clone(),
        "number" => dice.one(&[json!(1.5), json!(2), json!(-0.25)]).clone(),
        "boolean" => json!(dice.chance(50)),
        "datetime" => dice
            .one(&[json!("2024-01-02T03:04:05Z"), json!("2024-01-02"), json!("2024-01-02 03:04:05.123")])
            .clone(),
        _ => dice.one(&[json!(""), json!("Rust"), json!("%a_é%")]).clone(),
    }
}

/// Returns a field of the entity, or a path through one or several to-one relations, with the kind of the field.
fn path(dice: &mut Dice, entity: &Entity) -> (String, &'static str) {
    if !entity.one.is_empty() && dice.chance(30) {
        let (relation, target) = *dice.one(entity.one);
        let (path, kind) = path(dice, &BLOG[target]);
        return (format!("{relation}.{path}"), kind);
    }
    let (field, kind) = *dice.one(entity.fields);
    (field.to_owned(), kind)
}

fn condition(dice: &mut Dice, entity: &Entity) -> Value {
    let (field, kind) = path(dice, entity);
    if kind == "json" && dice.chance(70) {
        let at = dice.one(&["", "/a", "/b/0", "/~1~0"]);
        let (op, value) = dice
            .one(&[
                ("isNull", Value::Null),
                ("eq", json!(true)),
                ("gt", json!(1.5)),
                ("ilike", json!("x%")),
                ("in", json!(["x", "y"])),
                ("nin", json!([])),
                ("has", json!("x")),
                ("hasAny", json!([1, 2.5])),
                ("hasAll", json!([true])),
            ])
            .clone();
        let mut test = json!({"field": field, "at": at, "op": op});
        if op.starts_with("has") && dice.chance(30) {
            test = json!({"field": field, "op": op});
        }
        if !value.is_null() {
            test["value"] = value;
        }
        return test;
    }
    let tested = matches!(kind, "json" | "binary");
    match dice.below(if tested { 1 } else { 4 }) {
        0 => json!({"field": field, "op": dice.one(&["isNull", "isNotNull"])}),
        1 => {
            let values: Vec<_> = (0..dice.below(4)).map(|_| literal(dice, kind)).collect();
            json!({"field": field, "op": dice.one(&["in", "nin"]), "value": values})
        }
        2 if kind == "string" => {
            json!({"field": field, "op": dice.one(&["like", "ilike"]), "value": literal(dice, kind)})
        }
        _ => {
            let op = dice.one(&["eq", "ne", "gt", "gte", "lt", "lte"]);
            json!({"field": field, "op": op, "value": literal(dice, kind)})
        }
    }
}

fn filter(dice: &mut Dice, entity: &Entity, depth: usize) -> Value {
    let list =
        |dice: &mut Dice| (0..=dice.below(2)).map(|_| filter(dice, entity, depth - 1)).collect::<Vec<_>>();
    match dice.below(if depth == 0 { 1 } else { 6 }) {
        5 => related(dice, entity, depth),
        1 => json!({"and": list(dice)}),
        2 => json!({"or": list(dice)}),
        3 => json!({"not": filter(dice, entity, depth - 1)}),
        _ => condition(dice, entity),
    }
}

/// Returns a condition on the records of a relation.
fn related(dice: &mut Dice, entity: &Entity, depth: usize) -> Value {
    let relations: Vec<_> = entity.one.iter().chain(entity.many).collect();
    let (relation, target) = **dice.one(&relations);
    let op = *dice.one(&["some", "none", "every"]);
    let mut test = json!({"relation": relation, "op": op});
    if op == "every" || dice.chance(50) {
        test["where"] = filter(dice, &BLOG[target], depth - 1);
    }
    test
}

/// Adds `$where`, `$orderBy` and `$page` to a node, each with some probability.
fn controls(dice: &mut Dice, entity: &Entity, node: &mut Map<String, Value>, at_root: bool) {
    if dice.chance(40) {
        node.insert("$where".into(), filter(dice, entity, 2));
    }
    if dice.chance(40) {
        let direction = *dice.one(&["asc", "desc"]);
        let (field, kind) = path(dice, entity);
        let mut key = json!({"field": if kind == "json" { "id" } else { &field }, "direction": direction});
        if !entity.many.is_empty() && dice.chance(30) {
            let (relation, _) = *dice.one(entity.many);
            let function = dice
                .one(&[
                    json!({"fn": "count"}),
                    json!({"fn": "max", "field": "id"}),
                    json!({"fn": "avg", "field": "id"}),
                ])
                .clone();
            key = json!({"relation": relation, "aggregate": function, "direction": direction});
        }
        if dice.chance(50) {
            key["nulls"] = json!(dice.one(&["first", "last"]));
        }
        node.insert("$orderBy".into(), json!([key]));
    }
    if dice.chance(40) {
        let page = dice
            .one(&[
                json!({}),
                json!({"first": 1}),
                json!({"first": 200, "after": null}),
                json!({"after": null}),
                json!({"last": 3}),
                json!({"first": 2, "skip": 1}),
                json!({"skip": 0}),
                json!({"last": 1, "before": null}),
                json!({"total": true}),
                json!({"last": 2, "total": true}),
            ])
            .clone();
        let page = if at_root || page["total"].is_null() { page } else { json!({}) };
        node.insert("$page".into(), page);
    }
}

fn selection(dice: &mut Dice, entity: &Entity, depth: usize) -> Map<String, Value> {
    let mut select = Map::new();
    for (field, _) in entity.fields.iter().filter(|_| dice.chance(40)).collect::<Vec<_>>() {
        select.insert((*field).into(), json!(true));
        if dice.chance(10) {
            select.insert(format!("{field}_"), json!({"$field": field}));
        }
    }
    if depth > 0 {
        for (name, target) in entity.one {
            if dice.chance(30) {
                let node = json!({"$select": selection(dice, &BLOG[*target], depth - 1)});
                insert(dice, &mut select, name, node);
            }
        }
        for (name, target) in entity.many {
            if dice.chance(30) {
                let target = &BLOG[*target];
                let node = if dice.chance(25) {
                    aggregated(dice, target)
                } else {
                    let mut node =
                        Map::from_iter([("$select".to_owned(), json!(selection(dice, target, depth - 1)))]);
                    controls(dice, target, &mut node, false);
                    node
                };
                insert(dice, &mut select, name, node.into());
            }
        }
    }
    if select.is_empty() {
        select.insert("id".into(), json!(true));
    }
    select
}

/// Adds a relation to a selection: under its name, under an alias, or both.
fn insert(dice: &mut Dice, select: &mut Map<String, Value>, name: &str, node: Value) {
    if dice.chance(30) {
        let mut aliased = node.clone();
        aliased["$relation"] = json!(name);
        select.insert(format!("{name}_"), aliased);
    }
    if dice.chance(70) {
        select.insert(name.into(), node);
    }
}

/// Returns a node with aggregates of a relation: in groups, or as one object.
fn aggregated(dice: &mut Dice, entity: &Entity) -> Map<String, Value> {
    let mut node = grouped(dice, entity);
    if dice.chance(50) {
        for control in ["$groupBy", "$having", "$orderBy"] {
            node.remove(control);
        }
        node.insert("$select".into(), json!({}));
    } else if dice.chance(30) {
        node.insert("$page".into(), json!({"last": 2}));
    }
    if dice.chance(30) {
        node.insert("$where".into(), filter(dice, entity, 1));
    }
    node
}

/// Returns a node that reads groups.
fn grouped(dice: &mut Dice, entity: &Entity) -> Map<String, Value> {
    let keys: Vec<_> =
        entity.fields.iter().filter(|(_, kind)| *kind != "json").map(|(name, _)| *name).collect();
    let key = *dice.one(&keys);
    let select = if dice.chance(50) { json!({key: true}) } else { json!({}) };
    let mut node = Map::from_iter([("$select".to_owned(), select), ("$groupBy".to_owned(), json!([key]))]);
    let folds = [
        json!({"fn": "count"}),
        json!({"fn": "count", "field": "*"}),
        json!({"fn": "avg", "field": "id"}),
        json!({"fn": "max", "field": "id"}),
        json!({"fn": "count", "field": "id", "distinct": true}),
    ];
    node.insert("$aggregate".into(), json!({"n": dice.one(&folds)}));
    if dice.chance(50) {
        node.insert(
            "$having".into(),
            json!({"or": [{"aggregate": "n", "op": "gte", "value": 1}, {"field": key, "op": "isNull"}]}),
        );
    }
    if dice.chance(50) {
        node.insert(
            "$orderBy".into(),
            json!([{"aggregate": "n", "direction": "desc"}, {"field": key, "direction": "asc"}]),
        );
    }
    node
}

pub(super) fn query(dice: &mut Dice) -> Value {
    let entity = &BLOG[dice.below(BLOG.len())];
    let node = match dice.below(6) {
        0 => grouped(dice, entity),
        1 => Map::from_iter([
            ("$select".to_owned(), json!({"id": true})),
            ("$distinct".to_owned(), json!(["id"])),
        ]),
        _ => {
            let mut node = Map::from_iter([("$select".to_owned(), json!(selection(dice, entity, 2)))]);
            controls(dice, entity, &mut node, true);
            node
        }
    };
    json!({entity.name: node})
}
