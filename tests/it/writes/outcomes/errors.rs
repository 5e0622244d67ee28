//! Every error of a request that writes says that nothing was written. `SPEC §23.1`

use mesh_tests::{Database, Request, Server};
use serde_json::{Value, json};

use super::super::{SCHEMA, SHOP};
use crate::support::sessions::Deployment;

fn start(settings: &str) -> (Server, Database) {
    let database = Database::new(SHOP);
    let schema = database.dir.write("schema.json", SCHEMA);
    let config = database.dir.write("mesh.toml", &format!("mutations.enabled = true\n{settings}"));
    let server = Server::start(&["--config", &config, "--database", &database.url(), "--schema", &schema]);
    (server, database)
}

/// Sends a request, and returns its status with its effect.
fn effect(
    server: &Server,
    (method, path, body): (&str, &str, &str),
    headers: &[(&str, &str)],
) -> (u16, Value) {
    let request = Request::new(method, &format!("/mesh{path}"));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    let request = if body.is_empty() { request } else { request.body(body) };
    let reply = server.send(&request);
    assert_eq!(reply.header("retry-after").is_some(), [429, 503].contains(&reply.status));
    (reply.status, reply.json()["effect"].clone())
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// A request to each route that writes.
const ROUTES: [(&str, &str, &str); 8] = [
    ("POST", "/user", r#"{"name": "Di"}"#),
    ("PUT", "/user/1", r#"{"name": "Di"}"#),
    ("DELETE", "/note/1", ""),
    ("POST", "/post/1/tags", r#"{"entityId": "rust"}"#),
    ("PUT", "/post/1/editor", r#"{"entityId": 1}"#),
    ("DELETE", "/post/1/editor", ""),
    ("DELETE", "/post/1/tags/rust", ""),
    ("POST", "/batch", r#"{"steps": [{"method": "DELETE", "path": "/user/3"}]}"#),
];

/// Method, path and body of a request, its headers, and the status of its answer.
type Case<'a> = ((&'a str, &'a str, &'a str), &'a [(&'a str, &'a str)], u16);

#[test]
fn each_status_of_a_write_has_an_effect() {
    let (server, _database) = start("limits.body_bytes = \"2KiB\"\n");
    let long = format!(r#"{{"name": "{}"}}"#, "x".repeat(4096));
    let cases: [Case<'_>; 12] = [
        (("POST", "/user", r#"{"name": "Di"}"#), &[("Content-Type", "text/plain")], 415),
        (("POST", "/user", "{"), &[JSON], 400),
        (("POST", "/user", r#"{"secret": "x"}"#), &[JSON], 400),
        (("POST", "/user", r#"{"name": "Di"}"#), &[JSON, ("X-Mesh-Query", "!")], 400),
        (("POST", "/nothing", "{}"), &[JSON], 400),
        (("POST", "/user", &long), &[JSON], 413),
        (("PUT", "/user/99", r#"{"name": "Di"}"#), &[JSON], 404),
        (("PUT", "/user/1", r#"{"email": "bo@example.org"}"#), &[JSON], 409),
        (
            ("PUT", "/user/1", r#"{"name": "Di"}"#),
            &[JSON, ("If-Match", "\"00000000000000000000000000000000\"")],
            412,
        ),
        (("POST", "/post/1/author", r#"{"entityId": 1}"#), &[JSON], 405),
        (("POST", "/user", r#"[{"name": "Di"}, {}]"#), &[JSON], 409),
        (("POST", "/batch", r#"{"steps": [{"method": "DELETE", "path": "/user/99"}]}"#), &[JSON], 404),
    ];
    for (request, headers, status) in cases {
        assert_eq!(effect(&server, request, headers), (status, json!("none")), "{request:?} {headers:?}");
    }
    let read = ("POST", "", r#"{"user": {"$select": {"nothing": true}}}"#);
    assert_eq!(effect(&server, read, &[JSON]), (400, Value::Null), "a read has no effect");
}

#[test]
fn refused_callers_and_floods_have_an_effect_on_each_route() {
    let deployment = Deployment::new("mutations.enabled = true\n");
    let server = deployment.start();
    let (limited, _database) = start("limits.per_address = '1/h'\n");
    assert_eq!(limited.send(&Request::new("GET", "/nowhere")).status, 404);
    for route in ROUTES {
        assert_eq!(effect(&server, route, &[JSON]), (401, json!("none")), "{route:?}");
        assert_eq!(effect(&limited, route, &[JSON]), (429, json!("none")), "{route:?}");
    }
}

#[test]
fn a_database_that_is_locked_or_read_only_has_no_effect() {
    let (server, database) = start("request_timeout = \"300ms\"\n");
    let other = database.connect();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (status, effect) = effect(&server, ROUTES[0], &[JSON]);
    assert!([500, 503].contains(&status), "{status}");
    assert_eq!(effect, "none");
}
