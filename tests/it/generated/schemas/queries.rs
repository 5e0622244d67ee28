//! The JSON Schema of queries accepts what the server accepts, and refuses the rest.

mod faulty;
mod random;

use mesh_tests::{Database, Request, Server, TempDir, node_tools};
use serde_json::{Map, Value, json};

use super::super::shop::shop;
use super::{script, written};
use crate::support::dice::Dice;
use faulty::faulty;
use random::query;

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
    let config = blog.dir.write("mesh.toml", "[limits]\npage_max = 7\npage_default = 5\n");
    let (_, schema) = written(&blog.dir, "json-schema", &["--database", &blog.url(), "--config", &config]);
    let root = &schema["$defs"]["post.root"]["properties"];
    assert_eq!(root["$page"]["properties"]["first"]["anyOf"][0]["maximum"], 7);
    assert_eq!(root["$aggregate"]["maxProperties"], 16);
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

#[test]
fn searches_are_described_for_entities_that_have_them() {
    let Some(tools) = node_tools() else { return };
    let (database, schema) = shop();
    let source = ["--schema", &schema, "--database", &database.url()];
    let server = Server::start(&source);
    let (file, _) = written(&database.dir, "json-schema", &source);
    let of = |entity: &str, controls: Value| {
        let mut node = json!({"$select": {"id": true}});
        node.as_object_mut().unwrap().extend(controls.as_object().unwrap().clone());
        json!({entity: node})
    };
    let search = || json!({"search": "dawn -slow"});
    let ranked = || json!([{"search": "relevance"}, {"field": "title", "direction": "asc"}]);
    let good = [
        of("post", json!({"$where": search(), "$orderBy": ranked()})),
        of("post", json!({"$where": {"or": [search(), {"field": "likes", "op": "gt", "value": 5}]}})),
        of("user", json!({"$where": {"relation": "posts", "op": "some", "where": search()}})),
    ];
    let faulty = [
        of("user", json!({"$where": search()})),
        of("post", json!({"$where": {"search": 1}})),
        of("post", json!({"$where": {"search": "dawn", "op": "eq"}})),
        of("post", json!({"$where": {"relation": "author", "op": "some", "where": search()}})),
        of("post", json!({"$where": search(), "$orderBy": [{"search": "best"}]})),
        of("post", json!({"$where": search(), "$orderBy": [{"search": "relevance", "direction": "asc"}]})),
        of(
            "post",
            json!({"$where": search(), "$orderBy": [{"field": "id", "direction": "asc"}, {"search": "relevance"}]}),
        ),
        of("post", json!({"$where": search(), "$orderBy": ranked(), "$distinct": ["id"]})),
        json!({"user": {"$select": {"posts": {"$select": {"id": true}, "$where": search(), "$orderBy": ranked()}}}}),
        json!({"post": {"$select": {}, "$aggregate": {"n": {"fn": "count"}}, "$having": search()}}),
    ];
    let all: Vec<_> = good.iter().chain(&faulty).collect();
    let queries = database.dir.write("queries.json", &json!(all).to_string());
    let said = script("queries.mjs", &tools, &[&file, &queries]);
    assert_eq!(said.lines().count(), all.len());
    for (index, (query, judged)) in all.iter().zip(said.lines()).enumerate() {
        let reply = server.send(&Request::post("/mesh", &json!({"query": query.to_string()}).to_string()));
        let is_good = index < good.len();
        assert_eq!(reply.status, if is_good { 200 } else { 400 }, "{query}: {}", reply.text());
        assert_eq!(judged == "yes", is_good, "{query}");
    }
}
