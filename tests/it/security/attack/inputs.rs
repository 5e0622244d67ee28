//! Injection: hostile names, values, paths, headers and nesting over every route that accepts them.

use mesh_tests::{Request, Server};
use serde_json::{Value, json};

use super::{everything, is_well, refusal_faults};

/// Names with a special meaning in scripts and databases.
const NAMES: [&str; 12] = [
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "rowid",
    "sqlite_schema",
    "id\" FROM users --",
    "*",
    "",
    "a\0",
    "$select",
];

/// Runs a query in the playground and returns its statements and result.
fn statements(server: &Server, query: &Value) -> (Vec<String>, Value) {
    let body = json!({"query": query.to_string()}).to_string();
    let reply = server.send(&Request::post("/docs/execute", &body));
    assert_eq!(reply.status, 200, "{query}: {}", reply.text());
    let body = reply.json();
    let sql = body["meta"]["sql"].as_array().unwrap().iter();
    (sql.map(|one| one["sql"].as_str().unwrap().to_owned()).collect(), body["data"].clone())
}

/// Attack with a session of few rights: injection through names, values, ids, cursors, paths and headers.
#[test]
fn an_unknown_name_is_refused_in_every_position() {
    let (server, _blog) = everything();
    let mut faults = Vec::new();
    for name in NAMES {
        let node = |controls: Value| {
            let mut node = json!({"$select": {"id": true}});
            node.as_object_mut().unwrap().extend(controls.as_object().unwrap().clone());
            json!({"post": node})
        };
        let queries = [
            json!({name: {"$select": {"id": true}}}),
            json!({"post": {"$select": {name: true}}}),
            json!({"post": {"$select": {"id": true, name: {"$select": {"id": true}}}}}),
            json!({"post": {"$select": {"id": true}, name: {}}}),
            node(json!({"$where": {"field": name, "op": "eq", "value": "1"}})),
            node(json!({"$where": {"field": "id", "op": name, "value": 1}})),
            node(json!({"$where": {name: [{"field": "id", "op": "eq", "value": 1}]}})),
            node(json!({"$orderBy": [{"field": name, "direction": "asc"}]})),
            node(json!({"$orderBy": [{"field": "id", "direction": name}]})),
            node(json!({"$distinct": [name]})),
            node(json!({"$groupBy": [name], "$aggregate": {"n": {"fn": "count"}}})),
            json!({"post": {"$select": {}, "$aggregate": {"n": {"fn": "max", "field": name}}}}),
            json!({"post": {"$select": {}, "$aggregate": {"n": {"fn": name, "field": "id"}}}}),
            node(json!({"$page": {"first": 1, name: null}})),
        ];
        for query in queries {
            // A control in a valid position and `*` in a count are not unknown names.
            if name == "$select" && query["post"].get(name).is_some_and(|it| it == &json!({})) {
                continue;
            }
            let body = json!({"query": query.to_string()}).to_string();
            for path in ["/mesh", "/docs/execute"] {
                let reply = server.send(&Request::post(path, &body));
                let wrong = refusal_faults(&reply, 400, "ValidationError");
                faults.extend(wrong.iter().map(|fault| format!("{path} {query}: {fault}: {}", reply.text())));
            }
        }
        let write = json!({"title": "x", name: 1}).to_string();
        let reply = server.send(&Request::post("/mesh/post", &write));
        let wrong = refusal_faults(&reply, 400, "ValidationError");
        faults.extend(wrong.iter().map(|fault| format!("a write of {name:?}: {fault}: {}", reply.text())));
    }
    crate::support::refusals::report(&faults);
    // An alias is chosen by the client and is only a key of the result.
    let query = json!({"post": {"$select": {}, "$aggregate": {"__proto__": {"fn": "count"}, "constructor": {"fn": "max", "field": "id"}}}});
    let (sql, data) = statements(&server, &query);
    assert_eq!(data["items"], json!([{"__proto__": 4, "constructor": 4}]));
    assert!(!sql[0].contains("proto") && !sql[0].contains("constructor"), "{}", sql[0]);
    is_well(&server);
}
