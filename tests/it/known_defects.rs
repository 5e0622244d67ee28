//! Known defects of other servers of this kind, mapped to the tests that detect them here.

mod defects;
mod rules;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mesh_tests::{Database, Request, Server};
use serde_json::json;

use defects::DEFECTS;
use rules::RULES;

#[test]
fn every_test_of_the_tables_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut missing = Vec::new();
    for (what, tests) in DEFECTS.iter().chain(RULES) {
        assert!(!tests.is_empty(), "{what}");
        for test in *tests {
            let (file, name) = test.rsplit_once("::").unwrap();
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            // The targets of the fuzzer are tests by name, made by a macro.
            let is_target = file.ends_with("/fuzz.rs") && root.join("fuzz/corpus").join(name).is_dir();
            if !is_target && !text.contains(&format!("fn {name}(")) {
                missing.push(format!("{test}, for: {what}"));
            }
        }
    }
    crate::support::refusals::report(&missing);
    assert_eq!(DEFECTS.len(), 60);
}

#[test]
fn pages_follow_keys_that_are_not_selected() {
    let server = Server::with_database(&Database::blog());
    let mut titles = Vec::new();
    let mut after = json!(null);
    loop {
        let query = json!({"post": {"$select": {"title": true}, "$page": {"first": 1, "after": after},
            "$orderBy": [{"field": "likes", "direction": "desc"}, {"field": "score", "direction": "asc"}]}});
        let page = server.get("/post", &query.to_string()).json();
        titles.push(page["items"][0]["title"].as_str().unwrap().to_owned());
        if page["pageInfo"]["hasNextPage"] == json!(false) {
            break;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(titles, ["Bicycle", "Slow bread", "Rust at dawn", "A map"]);
}

const OWNERS: &str = "
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE firms (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE cars (id INTEGER PRIMARY KEY, driver INTEGER);
    CREATE TABLE sites (id INTEGER PRIMARY KEY, holder INTEGER, car INTEGER);
    INSERT INTO people VALUES (1, 'Ada'), (2, 'Bo');
    INSERT INTO firms VALUES (1, 'Acme'), (2, 'Bolt');
    INSERT INTO cars VALUES (1, 2);
    INSERT INTO sites VALUES (1, 1, 1);";

#[test]
fn relations_of_one_name_belong_to_their_entities() {
    let database = Database::new(OWNERS);
    let schema = r#"{"entities": {
        "person": {"fields": ["id", "name"], "table": "people"}, "firm": {"fields": ["id", "name"]},
        "car": {"fields": ["id"]}, "site": {"fields": ["id"]}},
      "joins": {
        "car.owner": {"entity": "person", "on": "people.id = cars.driver", "type": "one"},
        "site.owner": {"entity": "firm", "on": "firms.id = sites.holder", "type": "one"},
        "site.car": {"entity": "car", "on": "cars.id = sites.car", "type": "one"}}}"#;
    let schema = database.dir.write("schema.json", schema);
    let server = Server::start(&["--database", &database.url(), "--schema", &schema]);
    let query = r#"{"site":{"$select":{"owner":{"$select":{"name":true}},"car":{"$select":{"owner":{"$select":{"name":true}}}}}}}"#;
    assert_eq!(
        server.get("/site/1", query).text(),
        r#"{"owner":{"name":"Acme"},"car":{"owner":{"name":"Bo"}}}"#
    );
}

#[test]
fn names_of_tables_are_no_patterns() {
    let mut tables = String::new();
    let names = ["a.c", "abc", "a+", "(x", "[y]", "z$", "w|v", "\\d", "n*"];
    for (index, name) in names.iter().enumerate() {
        let other = names[(index + 1) % names.len()];
        write!(
            tables,
            "CREATE TABLE \"{name}\" (id INTEGER PRIMARY KEY, own TEXT, next INTEGER REFERENCES \"{other}\" (id));
             INSERT INTO \"{name}\" VALUES (1, '{name}', 1);"
        )
        .unwrap();
    }
    let database = Database::new(&tables);
    let server = Server::start(&["--database", &database.url(), "--docs"]);
    let schema = server.send(&Request::new("GET", "/docs/schema")).json();
    let entities = schema["entities"].as_array().unwrap();
    assert_eq!(entities.len(), names.len());
    let mut seen = Vec::new();
    for entity in entities {
        let key = entity["name"].as_str().unwrap();
        let reply = server.send(&Request::post(
            "/mesh",
            &json!({"query": json!({key: {"$select": {"own": true}}}).to_string(), "id": 1}).to_string(),
        ));
        seen.push(reply.json()["own"].as_str().unwrap().to_owned());
    }
    seen.sort();
    let mut wanted = names.map(str::to_owned);
    wanted.sort();
    assert_eq!(seen, wanted);
}
