//! Injection: hostile names, values, paths, headers and nesting over every route that accepts them.

use mesh_tests::{Request, Server};
use serde_json::{Value, json};

use super::{POST, everything, is_well, refusal_faults};

/// Values with a special meaning in databases, shells, patterns, templates or pages.
const HOSTILE: [&str; 16] = [
    "'; DROP TABLE posts; --",
    "\"; DROP TABLE posts; --",
    "' OR '1'='1",
    "x' UNION SELECT sql FROM sqlite_schema --",
    "?1",
    ":name",
    "$1",
    "%",
    "_",
    "\\",
    "a\0b",
    "\r\nX-Injected: 1",
    "<script>alert(1)</script>",
    "{{7*7}}${7*7}",
    "../../etc/passwd",
    "\u{202e}😀",
];

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

/// Returns queries with the text in each position that accepts text.
fn with_text(text: &str) -> Vec<Value> {
    let like = |op: &str| json!({"field": "title", "op": op, "value": text});
    let posts = |controls: Value| {
        let mut node = json!({"$select": {"id": true}});
        node.as_object_mut().unwrap().extend(controls.as_object().unwrap().clone());
        json!({"post": node})
    };
    let mut queries: Vec<Value> =
        ["eq", "ne", "gt", "lte", "like", "ilike"].map(|op| posts(json!({"$where": like(op)}))).to_vec();
    queries.extend([
        posts(json!({"$where": {"field": "title", "op": "in", "value": [text, "b"]}})),
        posts(json!({"$where": {"not": {"or": [like("eq"), {"and": [like("like")]}]}}})),
        json!({"user": {"$select": {"posts": {"$select": {"id": true}, "$where": like("eq"), "$page": {"first": 2}}}}}),
        json!({"post": {"$select": {"title": true}, "$groupBy": ["title"], "$aggregate": {"n": {"fn": "max", "field": "title"}},
            "$having": {"and": [{"aggregate": "n", "op": "eq", "value": text}, {"field": "title", "op": "ne", "value": text}]}}}),
        json!({"post": {"$select": {"title": true}, "$distinct": ["title"], "$where": like("gt")}}),
    ]);
    queries
}

/// A pattern has two statements: one for patterns with a literal prefix, which use an index, and one for others.
#[test]
fn a_hostile_value_does_not_change_the_statement() {
    let (server, _blog) = everything();
    let tame = ["tame", "%tame"]
        .map(|tame| -> Vec<_> { with_text(tame).iter().map(|query| statements(&server, query).0).collect() });
    assert!(tame.iter().flatten().all(|sql| !sql.is_empty() && sql.iter().all(|one| one.contains('?'))));
    for text in HOSTILE {
        for (place, query) in with_text(text).iter().enumerate() {
            let known = tame.each_ref().map(|tame| &tame[place]);
            let found = statements(&server, query).0;
            assert!(known.contains(&&found), "{query}: {found:?} is none of {known:?}");
        }
    }
    is_well(&server);
}

#[test]
fn a_hostile_value_is_stored_and_read_unchanged() {
    let (server, blog) = everything();
    for text in HOSTILE {
        let body = json!({"title": text, "authorId": 1}).to_string();
        let reply = server.send(&Request::post("/mesh/post", &body));
        assert_eq!(reply.status, 201, "{text:?}: {}", reply.text());
        assert_eq!(reply.json()["title"], text);
        assert!(reply.headers.iter().all(|(name, _)| name != "x-injected"), "{:?}", reply.headers);
        let id = reply.json()["id"].as_i64().unwrap();
        let reply = server.send(
            &Request::new("PUT", &format!("/mesh/post/{id}"))
                .header("Content-Type", "application/json")
                .body(&body),
        );
        assert_eq!((reply.status, &reply.json()["title"]), (200, &json!(text)));
        let found = json!({"post": {"$select": {"id": true}, "$where": {"field": "title", "op": "eq", "value": text}}});
        let items = server.get("/post", &found.to_string()).json()["items"].clone();
        assert_eq!(items, json!([{"id": id}]), "{text:?}");
        assert_eq!(server.send(&Request::new("DELETE", &format!("/mesh/post/{id}"))).status, 204);
    }
    let count: i64 = blog.connect().query_row("SELECT count(*) FROM posts", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 4);
    is_well(&server);
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

#[test]
fn a_path_is_decoded_once_and_addresses_records_only() {
    let (server, _blog) = everything();
    let long = "9".repeat(4096);
    for (segment, status) in [
        ("..%2f..%2fetc%2fpasswd", 200),
        ("%2e%2e", 200),
        ("%252e%252e%252f", 200),
        ("..%5c..%5c", 200),
        ("1%00", 200),
        ("1;DROP%20TABLE%20posts", 200),
        ("1'--", 200),
        ("%EF%BC%91", 200),
        (long.as_str(), 200),
        ("%c0%ae%c0%ae", 400),
        ("%e0%80%af", 400),
        ("%ed%a0%80", 400),
        ("%f8%88%80%80%80", 400),
        ("%", 400),
        ("%u0031", 400),
    ] {
        let reply = server.send(&Request::get(&format!("/mesh/post/{segment}"), POST));
        assert_eq!(reply.status, status, "{segment}: {}", reply.text());
        if status == 200 {
            assert_eq!(reply.text(), "null", "{segment}");
        }
    }
    for path in [
        "/mesh/../etc/passwd",
        "/mesh/post/../../etc/passwd",
        "/mesh//post/1",
        "/mesh/./post",
        "/docs/../etc/passwd",
        "/docs/assets/..%2f..%2fetc%2fpasswd",
    ] {
        let reply = server.send(&Request::get(path, POST));
        assert!((400..500).contains(&reply.status), "{path}: {} {}", reply.status, reply.text());
        assert!(!reply.text().contains("root:"), "{path}");
    }
    is_well(&server);
}

#[test]
fn depth_and_repetition_are_refused_without_delay() {
    let (server, _blog) = everything();
    let deep = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(100_000), close.repeat(100_000))
    };
    let ids = |count: usize, item: &str| vec![item; count].join(",");
    let texts = [
        ("selections", "json", deep(r#"{"post":{"$select":"#, "", "}}")),
        (
            "relations",
            "json",
            format!(r#"{{"post":{{"$select":{}"#, deep(r#"{"author":{"$select":"#, "{}", "}}")),
        ),
        (
            "nots",
            "json",
            format!(r#"{{"post":{{"$select":{{"id":true}},"$where":{}}}}}"#, deep(r#"{"not":"#, "{}", "}")),
        ),
        (
            "ands",
            "json",
            format!(r#"{{"post":{{"$select":{{"id":true}},"$where":{}}}}}"#, deep(r#"{"and":["#, "{}", "]}")),
        ),
        (
            "lists in a value",
            "json",
            format!(
                r#"{{"post":{{"$select":{{"id":true}},"$where":{{"field":"id","op":"in","value":{}}}}}}}"#,
                deep("[", "1", "]")
            ),
        ),
        ("arrays", "json", deep("[", "", "]")),
        ("braces", "json", "{".repeat(1 << 20)),
        ("braces of QL", "ql", "{".repeat(1 << 20)),
        ("relations of QL", "ql", format!("{{ post {} }}", deep("author { ", "id", " }"))),
        (
            "one field many times",
            "json",
            format!(r#"{{"post":{{"$select":{{{}}}}}}}"#, ids(10_000, r#""id":true"#)),
        ),
        (
            "one relation many times",
            "json",
            format!(r#"{{"post":{{"$select":{{{}}}}}}}"#, ids(2_000, r#""author":{"$select":{"id":true}}"#)),
        ),
        (
            "many conditions",
            "json",
            format!(
                r#"{{"post":{{"$select":{{"id":true}},"$where":{{"or":[{}]}}}}}}"#,
                ids(1_000, r#"{"field":"id","op":"eq","value":1}"#)
            ),
        ),
        (
            "many keys",
            "json",
            format!(
                r#"{{"post":{{"$select":{{"id":true}},"$orderBy":[{}]}}}}"#,
                ids(1_000, r#"{"field":"id","direction":"asc"}"#)
            ),
        ),
        (
            "many values",
            "json",
            format!(
                r#"{{"post":{{"$select":{{"id":true}},"$where":{{"field":"id","op":"in","value":[{}]}}}}}}"#,
                ids(20_000, "1")
            ),
        ),
        ("many fields of QL", "ql", format!("{{ post {} }}", "title ".repeat(10_000))),
    ];
    // Without raising the limit on the query length, most of these would be refused before parsing.
    let blog = mesh_tests::Database::blog();
    let config = blog.dir.write("mesh.toml", "[limits]\nquery_bytes = 8000000\nbody_bytes = 16000000\n");
    let wide = Server::start(&["--config", &config, "--database", &blog.url()]);
    let mut faults = Vec::new();
    for (name, format, text) in &texts {
        let body = json!({"query": text, "format": format}).to_string();
        for (which, server) in [("bounds as they are", &server), ("no bound on the text", &wide)] {
            let start = std::time::Instant::now();
            let reply = server.send(&Request::post("/mesh", &body));
            let taken = start.elapsed();
            let (status, error) = match reply.status {
                413 => (413, "TransportError"),
                // QL allows a repeated field and returns it once.
                200 if *name == "many fields of QL" => continue,
                _ => (400, "ValidationError"),
            };
            let wrong = refusal_faults(&reply, status, error);
            faults
                .extend(wrong.iter().map(|fault| format!("{name}, {which}: {fault}: {:.300}", reply.text())));
            if taken.as_secs() >= 3 || reply.body.len() > 4_000 {
                faults.push(format!("{name}, {which}: {taken:?}, {} bytes of answer", reply.body.len()));
            }
        }
    }
    for body in [
        "[".repeat(1 << 19),
        format!(r#"{{"query":{}"#, "[".repeat(500_000)),
        format!(r#"{{"a":{}"#, "{\"a\":".repeat(150_000)),
    ] {
        for path in ["/mesh", "/mesh/queries", "/docs/execute", "/mesh/post", "/mesh/post/1/tags"] {
            let reply = server.send(&Request::post(path, &body));
            if !(400..500).contains(&reply.status) {
                faults.push(format!("{path}: {} for a body of depth", reply.status));
            }
        }
    }
    crate::support::refusals::report(&faults);
    is_well(&server);
    is_well(&wide);
}

/// Every repeated header of the protocol is refused; neither the first nor the last value is used.
#[test]
fn a_repeated_header_is_refused() {
    let (server, _blog) = everything();
    let read = Request::get("/mesh/post/1", POST);
    for (name, values) in [
        ("X-Mesh-Query", ["e30=", "e30="]),
        ("X-Mesh-Query-Id", ["q_1", "q_2"]),
        ("X-Mesh-Format", ["json", "ql"]),
        ("X-Mesh-Format", ["json", "json"]),
    ] {
        let request =
            if name == "X-Mesh-Format" { read.clone() } else { Request::new("GET", "/mesh/post/1") };
        let reply = server.send(&request.header(name, values[0]).header(name, values[1]));
        assert_eq!(
            refusal_faults(&reply, 400, "TransportError"),
            Vec::<String>::new(),
            "{name} {}",
            reply.text()
        );
    }
    let typed = Request::new("POST", "/mesh")
        .header("Content-Type", "text/plain")
        .header("Content-Type", "application/json");
    let reply = server.send(&typed.body(json!({"query": POST}).to_string()));
    assert_eq!(reply.status, 415, "{}", reply.text());
}
