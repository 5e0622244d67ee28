//! Random queries that a schema permits, with every control.

use serde_json::{Map, Value as Json, json};

use super::data::{Entity, Field};
use super::dice::Dice;
use super::documents::POINTERS;
use super::kind::{Kind, TEXTS};

/// The maximum depth of relations.
const DEPTH: usize = 4;

/// Returns the root of a query for a collection read.
pub(crate) fn collection(dice: &mut Dice, entities: &[Entity], root: usize) -> Json {
    match dice.below(10) {
        0..=5 => node(dice, entities, root, DEPTH, true),
        6 => distinct(dice, &entities[root]),
        _ => grouped(dice, &entities[root]),
    }
}

/// Returns the root of a query for a point read.
pub(crate) fn point(dice: &mut Dice, entities: &[Entity], root: usize) -> Json {
    node(dice, entities, root, DEPTH, false)
}

/// The field or aggregate of a condition or an order.
type Subject = (Json, Kind);

fn subjects(fields: &[Field]) -> Vec<Subject> {
    fields.iter().map(|field| (json!({"field": field.name}), field.kind)).collect()
}

fn node(dice: &mut Dice, entities: &[Entity], at: usize, depth: usize, many: bool) -> Json {
    let entity = &entities[at];
    let mut select = Map::new();
    let most = 1 + dice.below(4);
    for field in dice.some(&entity.fields, most) {
        let alias = format!("alias_{}", select.len());
        if matches!(field.kind, Kind::Json(_)) && dice.chance(50) {
            select.insert(alias, json!({"$field": field.name, "at": dice.pick(&POINTERS)}));
        } else if dice.chance(15) {
            select.insert(alias, json!({"$field": field.name}));
        } else {
            select.insert(field.name, json!(true));
        }
    }
    let most = dice.below(2);
    for computed in dice.some(&entity.computed, most) {
        match dice.chance(15) {
            true => select.insert(format!("alias_{}", select.len()), json!({"$field": computed.name})),
            false => select.insert(computed.name, json!(true)),
        };
    }
    if depth > 0 {
        let most = dice.below(if depth > 2 { 4 } else { 3 });
        for relation in dice.some(&entity.relations, most) {
            if dice.chance(20) {
                let mut below = match relation.many && dice.chance(60) {
                    true => aggregated(dice, entities, relation.target),
                    false => node(dice, entities, relation.target, depth - 1, relation.many),
                };
                below["$relation"] = json!(relation.name);
                select.insert(format!("alias_{}", select.len()), below);
            }
            let below = node(dice, entities, relation.target, depth - 1, relation.many);
            select.insert(relation.name, below);
        }
    }
    let mut node = json!({"$select": select});
    if many {
        if dice.chance(45) {
            node["$where"] = related_filter(dice, entities, at, 3);
        }
        if dice.chance(60) {
            node["$orderBy"] = related_order(dice, entities, at);
        }
        page(dice, &mut node);
    }
    node
}

/// Returns the aggregates of a relation, of all records or of groups.
fn aggregated(dice: &mut Dice, entities: &[Entity], at: usize) -> Json {
    let entity = &entities[at];
    if dice.chance(50) {
        let mut node = grouped(dice, entity);
        if node.get("$groupBy").is_some() {
            return node;
        }
        for control in ["$orderBy", "$page", "$having"] {
            node.as_object_mut().unwrap().remove(control);
        }
        return node;
    }
    let (count, _) = aggregate(dice, entity);
    let mut node = json!({"$select": {}, "$aggregate": {"n": count}});
    if dice.chance(40) {
        node["$where"] = related_filter(dice, entities, at, 2);
    }
    node
}

/// Returns the fields of an entity, and those at the end of paths through to-one relations.
fn with_paths(dice: &mut Dice, entities: &[Entity], at: usize) -> Vec<Subject> {
    let mut all = subjects(&entities[at].fields);
    let (mut at, mut path) = (at, String::new());
    for _ in 0..2 {
        let ones: Vec<_> = entities[at].relations.iter().filter(|relation| !relation.many).cloned().collect();
        if ones.is_empty() || dice.chance(50) {
            break;
        }
        let relation = dice.pick(&ones);
        path.push_str(&relation.name);
        path.push('.');
        at = relation.target;
        let fields = entities[at].fields.iter();
        all.extend(fields.map(|field| (json!({"field": format!("{path}{}", field.name)}), field.kind)));
    }
    all
}

/// Returns a filter with conditions on relations and on paths.
fn related_filter(dice: &mut Dice, entities: &[Entity], at: usize, depth: usize) -> Json {
    let relations = &entities[at].relations;
    if depth > 0 && !relations.is_empty() && dice.chance(25) {
        let relation = dice.pick(relations);
        let op = dice.pick(&["some", "none", "every"]);
        let mut condition = json!({"relation": relation.name, "op": op});
        if op == "every" || dice.chance(60) {
            condition["where"] = related_filter(dice, entities, relation.target, depth - 1);
        }
        return match dice.below(4) {
            0 => json!({"not": condition}),
            1 => json!({"or": [condition, related_filter(dice, entities, at, depth - 1)]}),
            _ => condition,
        };
    }
    let subjects = with_paths(dice, entities, at);
    filter(dice, depth, &subjects)
}

/// Returns an order by fields, paths and aggregates of relations.
fn related_order(dice: &mut Dice, entities: &[Entity], at: usize) -> Json {
    let subjects = with_paths(dice, entities, at);
    let mut order = order(dice, &subjects);
    let many: Vec<_> = entities[at].relations.iter().filter(|relation| relation.many).cloned().collect();
    if !many.is_empty() && dice.chance(20) {
        let relation = dice.pick(&many);
        let (aggregate, _) = aggregate(dice, &entities[relation.target]);
        let key = json!({"relation": relation.name, "aggregate": aggregate, "direction": dice.pick(&["asc", "desc"])});
        order.as_array_mut().unwrap().insert(0, key);
    }
    order
}

fn page(dice: &mut Dice, node: &mut Json) {
    match dice.below(10) {
        0..=3 => {}
        4 => node["$page"] = json!({}),
        5 => node["$page"] = json!({"first": 1 + dice.below(3), "after": null}),
        6 | 7 => node["$page"] = json!({"last": 1 + dice.below(5)}),
        8 => node["$page"] = json!({"first": 1 + dice.below(5), "skip": dice.below(4)}),
        _ => node["$page"] = json!({"first": 1 + dice.below(5)}),
    }
}

fn order(dice: &mut Dice, subjects: &[Subject]) -> Json {
    let ordered: Vec<_> =
        subjects.iter().filter(|(_, kind)| !matches!(kind, Kind::Json(_) | Kind::Binary)).cloned().collect();
    let most = dice.below(4);
    let keys = dice.some(&ordered, most).into_iter().map(|(mut key, _)| {
        key["direction"] = json!(dice.pick(&["asc", "desc"]));
        if dice.chance(60) {
            key["nulls"] = json!(dice.pick(&["first", "last"]));
        }
        key
    });
    keys.collect()
}

fn filter(dice: &mut Dice, depth: usize, subjects: &[Subject]) -> Json {
    if depth > 0 && dice.chance(45) {
        return match dice.below(3) {
            0 => json!({"not": filter(dice, depth - 1, subjects)}),
            choice => {
                let parts: Vec<_> = (0..=dice.below(3)).map(|_| filter(dice, depth - 1, subjects)).collect();
                if choice == 1 { json!({"and": parts}) } else { json!({"or": parts}) }
            }
        };
    }
    let (mut leaf, kind) = dice.pick(subjects);
    if matches!(kind, Kind::Json(_)) && dice.chance(80) {
        return in_json(dice, leaf);
    }
    let choice = if matches!(kind, Kind::Json(_) | Kind::Binary) { dice.below(2) } else { dice.below(10) };
    match choice {
        0 => leaf["op"] = json!("isNull"),
        1 => leaf["op"] = json!("isNotNull"),
        2 | 3 => {
            leaf["op"] = json!(dice.pick(&["in", "nin"]));
            leaf["value"] = (0..dice.below(4)).map(|_| literal(dice, kind)).collect();
        }
        4 | 5 if kind == Kind::Text => {
            leaf["op"] = json!(dice.pick(&["like", "ilike"]));
            let pieces = ["a", "B", "%", "_", "\\%", "\\_", "\\\\", "É", "'", "日", "\""];
            leaf["value"] = (0..dice.below(4)).map(|_| dice.pick(&pieces)).collect::<String>().into();
        }
        _ => {
            leaf["op"] = json!(dice.pick(&["eq", "ne", "gt", "gte", "lt", "lte"]));
            leaf["value"] = literal(dice, kind);
        }
    }
    leaf
}

/// Completes a condition on a scalar or an array in a JSON field.
fn in_json(dice: &mut Dice, mut leaf: Json) -> Json {
    let of_elements = dice.chance(30);
    if !of_elements || dice.chance(70) {
        leaf["at"] = json!(dice.pick(&POINTERS));
    }
    let texts = [json!("a"), json!("é"), json!("x"), json!("1"), json!("")];
    let numbers = [
        json!(0),
        json!(1),
        json!(2.5),
        json!(-3),
        json!(9_007_199_254_740_993i64),
        json!(u64::MAX),
        json!(1e300),
        json!(0.1),
    ];
    let booleans = [json!(true), json!(false)];
    let literals: &[Json] = match dice.below(3) {
        0 => &texts,
        1 => &numbers,
        _ => &booleans,
    };
    match dice.below(8) {
        choice if of_elements => {
            leaf["op"] = json!(dice.pick(if choice == 0 { &["has"] } else { &["hasAny", "hasAll"] }));
            leaf["value"] = match choice {
                0 => dice.pick(literals),
                _ => (0..=dice.below(3)).map(|_| dice.pick(literals)).collect(),
            };
        }
        0 => leaf["op"] = json!("isNull"),
        1 => leaf["op"] = json!("isNotNull"),
        2 => {
            leaf["op"] = json!(dice.pick(&["in", "nin"]));
            leaf["value"] = (0..dice.below(4)).map(|_| dice.pick(literals)).collect();
        }
        3 => {
            leaf["op"] = json!(dice.pick(&["like", "ilike"]));
            leaf["value"] = json!(dice.pick(&["%", "_", "A", "é%", "", "%x%"]));
        }
        _ => {
            leaf["op"] = json!(dice.pick(&["eq", "ne", "gt", "gte", "lt", "lte"]));
            leaf["value"] = dice.pick(literals);
        }
    }
    leaf
}

fn literal(dice: &mut Dice, kind: Kind) -> Json {
    match kind {
        Kind::Text => json!(dice.pick(&TEXTS)),
        Kind::Integer => dice.pick(&[json!(0), json!(1), json!(2.0), json!(3), json!(-1), json!(i64::MAX)]),
        Kind::Real => dice.pick(&[json!(0.25), json!(1), json!(2.0), json!(-3.25), json!(1e300), json!(0)]),
        Kind::Boolean | Kind::BooleanText | Kind::BooleanReal => json!(dice.chance(50)),
        Kind::Bigint => dice.pick(&[json!("1"), json!(4), json!("9007199254740993"), json!(-5)]),
        Kind::Huge => {
            dice.pick(&[json!(i64::MIN), json!(i64::MAX), json!("0"), json!("9223372036854775806")])
        }
        Kind::Decimal => {
            dice.pick(&[json!("1.50"), json!(2), json!(0.25), json!("10.0"), json!("12345678901234567890.5")])
        }
        Kind::Time(_) => json!(dice.pick(&[
            "2024-01-01",
            "2024-05-01T10:00:00",
            "2024-05-01 10:00:00Z",
            "2023-12-31T23:59:59.5Z",
            "2024-05-01T12:00:00+02:00",
        ])),
        Kind::Date | Kind::DateNumber(_) => json!(dice.pick(&["2024-01-01", "2024-05-01", "2024-02-29"])),
        // Compared with NULL only.
        Kind::Json(_) | Kind::Binary => Json::Null,
    }
}

/// Returns fields to group by.
fn keys(dice: &mut Dice, entity: &Entity, most: usize) -> Vec<Field> {
    let fields: Vec<_> =
        entity.fields.iter().filter(|it| !matches!(it.kind, Kind::Json(_) | Kind::Binary)).cloned().collect();
    dice.some(&fields, most)
}

fn names(fields: &[Field]) -> Json {
    fields.iter().map(|field| json!(field.name)).collect()
}

fn distinct(dice: &mut Dice, entity: &Entity) -> Json {
    let most = 1 + dice.below(3);
    let keys = keys(dice, entity, most);
    if keys.is_empty() {
        return grouped(dice, entity);
    }
    let mut select = Map::new();
    let shown = 1 + dice.below(keys.len());
    for key in dice.some(&keys, shown) {
        select.insert(key.name, json!(true));
    }
    let mut node = json!({"$select": select, "$distinct": names(&keys)});
    node["$orderBy"] = order(dice, &subjects(&keys));
    if dice.chance(40) {
        node["$where"] = filter(dice, 3, &subjects(&entity.fields));
    }
    page(dice, &mut node);
    node
}

fn grouped(dice: &mut Dice, entity: &Entity) -> Json {
    let most = dice.below(3);
    let keys = keys(dice, entity, most);
    let mut subjects_of_groups = subjects(&keys);
    let mut aggregates = Map::new();
    for number in 0..=dice.below(4) {
        let alias = format!("agg_{number}");
        let (definition, kind) = aggregate(dice, entity);
        aggregates.insert(alias.clone(), definition);
        subjects_of_groups.push((json!({"aggregate": alias}), kind));
    }
    let mut group: Vec<Json> = keys.iter().map(|key| json!(key.name)).collect();
    if let Some(bucket) = bucket(dice, entity) {
        subjects_of_groups.push((json!({"field": "bucket"}), Kind::Text));
        group.push(bucket);
    }
    let mut select = Map::new();
    for key in &group {
        if dice.chance(70) {
            select.insert(key.as_str().unwrap_or("bucket").to_owned(), json!(true));
        }
    }
    let mut node = json!({"$select": select, "$aggregate": aggregates});
    if !group.is_empty() {
        node["$groupBy"] = group.into();
    }
    if dice.chance(40) {
        node["$having"] = filter(dice, 2, &subjects_of_groups);
    }
    if dice.chance(40) {
        node["$where"] = filter(dice, 3, &subjects(&entity.fields));
    }
    node["$orderBy"] = order(dice, &subjects_of_groups);
    page(dice, &mut node);
    node
}

/// Returns a bucket with the alias `bucket`.
fn bucket(dice: &mut Dice, entity: &Entity) -> Option<Json> {
    let times = entity.fields.iter().filter(|field| entity.stores_times(field));
    let field = dice.some(&times.cloned().collect::<Vec<_>>(), 1).pop()?;
    let is_date = field.kind == Kind::Date;
    let units = ["year", "quarter", "month", "week", "day", "hour", "minute"];
    let unit = dice.below(if is_date { 5 } else { 7 });
    let mut bucket = json!({"field": field.name, "by": units[unit], "as": "bucket"});
    if !is_date && unit < 5 && dice.chance(60) {
        bucket["zone"] = json!(dice.pick(&["UTC", "Europe/Berlin", "America/New_York"]));
    }
    Some(bucket)
}

/// Returns an aggregate and the kind of its values.
fn aggregate(dice: &mut Dice, entity: &Entity) -> (Json, Kind) {
    let field = dice.pick(&entity.fields);
    let functions: &[&str] = match field.kind {
        Kind::Integer | Kind::Real | Kind::Bigint | Kind::Decimal => &["count", "sum", "avg", "min", "max"],
        Kind::Json(_) | Kind::Binary | Kind::Boolean | Kind::BooleanText | Kind::BooleanReal => &["count"],
        // `Huge` has no sum, because whether it overflows can depend on the order of the rows.
        Kind::Huge | Kind::Text | Kind::Time(_) | Kind::Date | Kind::DateNumber(_) => {
            &["count", "min", "max"]
        }
    };
    let function = dice.pick(functions);
    let mut definition = json!({"fn": function});
    if function == "count" && dice.chance(40) {
        if dice.chance(50) {
            definition["field"] = json!("*");
        }
    } else {
        definition["field"] = json!(field.name);
        if dice.chance(40) && !matches!(field.kind, Kind::Json(_) | Kind::Binary) {
            definition["distinct"] = json!(true);
        }
    }
    let kind = match function {
        "count" => Kind::Integer,
        "avg" => Kind::Real,
        _ => field.kind,
    };
    (definition, kind)
}
