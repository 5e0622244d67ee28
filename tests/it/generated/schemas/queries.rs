//! The JSON Schema of queries accepts what the server accepts, and refuses the rest.

use mesh_tests::{Database, Request, Server, TempDir, node_tools};
use serde_json::{Map, Value, json};

use super::{script, written};

/// A deterministic sequence of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Fields of an entity with their kinds, and where its relations lead.
struct Entity {
    name: &'static str,
    fields: &'static [(&'static str, &'static str)],
    one: &'static [(&'static str, usize)],
    many: &'static [(&'static str, usize)],
}

/// The blog as it is inferred.
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

fn condition(dice: &mut Dice, entity: &Entity) -> Value {
    let (field, kind) = *dice.one(entity.fields);
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
    match dice.below(if depth == 0 { 1 } else { 5 }) {
        1 => json!({"and": list(dice)}),
        2 => json!({"or": list(dice)}),
        3 => json!({"not": filter(dice, entity, depth - 1)}),
        _ => condition(dice, entity),
    }
}

/// `$where`, `$orderBy` and `$page`, each or none.
fn controls(dice: &mut Dice, entity: &Entity, node: &mut Map<String, Value>) {
    if dice.chance(40) {
        node.insert("$where".into(), filter(dice, entity, 2));
    }
    if dice.chance(40) {
        let (field, kind) = *dice.one(entity.fields);
        let mut key = json!({"field": if kind == "json" { "id" } else { field }, "direction": dice.one(&["asc", "desc"])});
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
            ])
            .clone();
        node.insert("$page".into(), page);
    }
}

fn selection(dice: &mut Dice, entity: &Entity, depth: usize) -> Map<String, Value> {
    let mut select = Map::new();
    for (field, _) in entity.fields.iter().filter(|_| dice.chance(40)).collect::<Vec<_>>() {
        select.insert((*field).into(), json!(true));
    }
    if depth > 0 {
        for (name, target) in entity.one {
            if dice.chance(30) {
                select.insert((*name).into(), json!({"$select": selection(dice, &BLOG[*target], depth - 1)}));
            }
        }
        for (name, target) in entity.many {
            if dice.chance(30) {
                let target = &BLOG[*target];
                let mut node =
                    Map::from_iter([("$select".to_owned(), json!(selection(dice, target, depth - 1)))]);
                controls(dice, target, &mut node);
                select.insert((*name).into(), node.into());
            }
        }
    }
    if select.is_empty() {
        select.insert("id".into(), json!(true));
    }
    select
}

/// A read of groups.
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

fn query(dice: &mut Dice) -> Value {
    let entity = &BLOG[dice.below(BLOG.len())];
    let node = match dice.below(6) {
        0 => grouped(dice, entity),
        1 => Map::from_iter([
            ("$select".to_owned(), json!({"id": true})),
            ("$distinct".to_owned(), json!(["id"])),
        ]),
        _ => {
            let mut node = Map::from_iter([("$select".to_owned(), json!(selection(dice, entity, 2)))]);
            controls(dice, entity, &mut node);
            node
        }
    };
    json!({entity.name: node})
}

/// What can be wrong with a query of posts: each is right but for one thing.
fn faulty() -> Vec<Value> {
    let posts = |select: Value, more: Value| {
        let mut node = more;
        node["$select"] = select;
        json!({"post": node})
    };
    let with = |control: &str, value: Value| json!({"post": {"$select": {"id": true}, control: value}});
    let wanted = |field: &str, op: &str, value: Value| {
        with("$where", json!({"field": field, "op": op, "value": value}))
    };
    let id = || json!({"id": true});
    vec![
        json!([]),
        json!({}),
        json!({"pots": {"$select": {"id": true}}}),
        json!({"post": {"$select": {"id": true}}, "user": {"$select": {"id": true}}}),
        json!({"post": {"$select": {"id": true}}, "$page": {}}),
        json!({"post": {}}),
        json!({"post": {"id": true}}),
        posts(json!({}), json!({})),
        posts(json!({"titel": true}), json!({})),
        posts(json!({"title": false}), json!({})),
        posts(json!({"title": {"$select": {"id": true}}}), json!({})),
        posts(json!({"author": true}), json!({})),
        posts(json!({"author": {"$select": {"titel": true}}}), json!({})),
        posts(json!({"author": {"$select": {}}}), json!({})),
        posts(json!({"author": {"$select": {"id": true}, "$page": {}}}), json!({})),
        posts(json!({"comments": {"$select": {"id": true}, "$groupBy": ["id"]}}), json!({})),
        posts(json!({"comments": {"$select": {"id": true}, "$page": {"after": "x"}}}), json!({})),
        with("$limit", json!(3)),
        with("$where", Value::Null),
        with("$where", json!({})),
        with("$where", json!({"and": []})),
        with("$where", json!({"field": "id"})),
        with("$where", json!({"field": "id", "op": "isNull", "value": 1})),
        with(
            "$where",
            json!({"not": {"field": "id", "op": "isNull"}, "or": [{"field": "id", "op": "isNull"}]}),
        ),
        with("$where", json!({"aggregate": "n", "op": "isNull"})),
        wanted("titel", "eq", json!("x")),
        wanted("author", "eq", json!(1)),
        wanted("title", "equals", json!("x")),
        wanted("title", "eq", json!(1)),
        wanted("title", "eq", Value::Null),
        wanted("title", "eq", json!({"a": 1})),
        wanted("id", "eq", json!(1.5)),
        wanted("id", "eq", json!("1")),
        wanted("id", "in", json!(1)),
        wanted("id", "in", json!([1, "2"])),
        wanted("id", "in", (0..201).collect()),
        wanted("likes", "like", json!("1%")),
        wanted("published", "eq", json!(1)),
        wanted("createdAt", "gt", json!("yesterday")),
        wanted("attributes", "eq", json!("{}")),
        wanted("picture", "eq", json!("AP8=")),
        with("$orderBy", json!([{"field": "title"}])),
        with("$orderBy", json!([{"field": "title", "direction": "up"}])),
        with("$orderBy", json!([{"field": "attributes", "direction": "asc"}])),
        with("$orderBy", json!([{"field": "title", "direction": "asc", "nulls": "none"}])),
        with("$orderBy", json!([{"field": "id", "direction": "asc"}, {"field": "id", "direction": "asc"}])),
        with("$orderBy", json!({"field": "title", "direction": "asc"})),
        with("$page", json!({"first": 0})),
        with("$page", json!({"first": 201})),
        with("$page", json!({"first": "5"})),
        with("$page", json!({"last": 5})),
        with("$distinct", json!([])),
        with("$distinct", json!("id")),
        with("$groupBy", json!(["attributes"])),
        with("$groupBy", json!(["id", "id"])),
        with("$groupBy", json!(["comments"])),
        with("$having", json!({"field": "id", "op": "isNull"})),
        with("$aggregate", json!({})),
        posts(json!({}), json!({"$aggregate": {"1st": {"fn": "count"}}})),
        posts(json!({}), json!({"$aggregate": {"n": {"fn": "median", "field": "id"}}})),
        posts(json!({}), json!({"$aggregate": {"n": {"fn": "sum"}}})),
        posts(json!({}), json!({"$aggregate": {"n": {"fn": "sum", "field": "title"}}})),
        posts(json!({}), json!({"$aggregate": {"n": {"fn": "max", "field": "published"}}})),
        posts(json!({}), json!({"$aggregate": {"n": {"fn": "count", "distinct": true}}})),
        posts(
            json!({}),
            json!({"$aggregate": {"n": {"fn": "count", "field": "attributes", "distinct": true}}}),
        ),
        posts(json!({"author": {"$select": {"id": true}}}), json!({"$aggregate": {"n": {"fn": "count"}}})),
        posts(id(), json!({"$distinct": ["id"], "$groupBy": ["id"]})),
    ]
}

#[test]
fn the_schema_of_queries_agrees_with_the_server() {
    let Some(tools) = node_tools() else { return };
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    let (file, _) = written(&blog.dir, "json-schema", &["--database", &blog.url()]);
    let mut dice = Dice(20_240_501);
    let good: Vec<Value> = (0..400).map(|_| query(&mut dice)).collect();
    let faulty = faulty();
    let all: Vec<_> = good.iter().chain(&faulty).collect();
    let queries = blog.dir.write("queries.json", &json!(all).to_string());
    let said = script("queries.mjs", &tools, &[&file, &queries]);
    let judged: Vec<_> = said.lines().collect();
    assert_eq!(judged.len(), all.len());
    let mut connection = server.connect();
    for (index, (query, judged)) in all.iter().zip(judged).enumerate() {
        let reply =
            connection.send(&Request::post("/mesh", &json!({"query": query.to_string()}).to_string()));
        let status = if index < good.len() { 200 } else { 400 };
        assert_eq!(reply.status, status, "{query}: {}", reply.text());
        assert_eq!(judged == "yes", index < good.len(), "{query}: {judged}");
    }
}

#[test]
fn bounds_of_the_settings_are_bounds_of_the_schema() {
    let blog = Database::blog();
    let config = blog.dir.write("mesh.toml", "[limits]\npage_max = 7\npage_default = 5\naggregates = 2\n");
    let (_, schema) = written(&blog.dir, "json-schema", &["--database", &blog.url(), "--config", &config]);
    let root = &schema["$defs"]["post.root"]["properties"];
    assert_eq!(root["$page"]["properties"]["first"]["maximum"], 7);
    assert_eq!(root["$aggregate"]["maxProperties"], 2);
}

#[test]
fn schemas_of_entities_without_some_kinds_of_fields_are_valid() {
    let Some(tools) = node_tools() else { return };
    let types = [
        "string", "integer", "bigint", "number", "boolean", "datetime", "date", "json", "binary", "uuid",
        "decimal",
    ];
    let mut entities = Map::new();
    for ty in types {
        entities.insert(ty.to_owned(), json!({"fields": ["f"], "types": {"f": ty}, "idField": null}));
    }
    entities.insert("bare".to_owned(), json!({"fields": ["id", "name"]}));
    let document = json!({
        "entities": entities,
        "joins": {"bare.child": {"entity": "json", "on": "jsons.f = bares.id", "type": "many"}},
        "policies": {"admin": true, "related": {"bare": {"fields": []}, "json": {"fields": ["f"]}},
                     "few": {"boolean": {"fields": ["f"]}}, "*": {}},
    });
    let dir = TempDir::new();
    let schema = dir.write("schema.json", &document.to_string());
    for role in ["admin", "related", "few", "*"] {
        let (file, written) = written(&dir, "json-schema", &["--schema", &schema, "--role", role]);
        let entities: Vec<_> = written["properties"].as_object().unwrap().keys().cloned().collect();
        let with = |select: &Value, controls: Value| {
            let mut node = json!({"$select": select});
            node.as_object_mut().unwrap().extend(controls.as_object().unwrap().clone());
            node
        };
        // Aggregates exist for the types of SPEC §3.12 only, whatever the other fields are.
        let queries: Vec<Value> = entities
            .iter()
            .filter(|entity| types.contains(&entity.as_str()))
            .flat_map(|entity| {
                let sum = with(&json!({}), json!({"$aggregate": {"n": {"fn": "sum", "field": "f"}}}));
                [json!({entity: with(&json!({"f": true}), json!({}))}), json!({entity: sum})]
            })
            .collect();
        let file_of_queries = dir.write("queries.json", &json!(queries).to_string());
        let said = script("queries.mjs", &tools, &[&file, &file_of_queries]);
        let judged: Vec<bool> = said.lines().map(|line| line == "yes").collect();
        let expected: Vec<bool> = entities
            .iter()
            .filter(|entity| types.contains(&entity.as_str()))
            .flat_map(|entity| [true, ["integer", "bigint", "number", "decimal"].contains(&entity.as_str())])
            .collect();
        assert_eq!(judged, expected, "{role}: {said}");
    }
}
