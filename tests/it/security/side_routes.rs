//! Rules of the main route hold for every other route: bound signatures of writes, registered queries only, and names
//! that a role cannot see.

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Request, Response, Server};
use serde_json::{Value, json};

use crate::support::refusals::report;
use crate::support::sessions::{Deployment, PASSWORD, Session, login, why};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

/// Returns settings that enable every route, in addition to the settings of sessions.
fn everything(folder: &std::path::Path) -> String {
    format!(
        "[mutations]\nenabled = true\n[docs]\nenabled = true\n[uploads]\nenabled = true\nstore = \"file:{}\"\n",
        folder.join("files").display()
    )
}

/// Signs a request, bound to one use.
fn signed(session: &Session, request: Request) -> Request {
    let statement = request.header_value("X-Mesh-Query").or_else(|| request.header_value("X-Mesh-Query-Id"));
    let mut message = statement.unwrap_or_default().to_owned();
    if request.header_value("Content-Type") == Some("application/json") {
        let body = request.body.as_deref().unwrap_or_default();
        message.push_str(&format!("\n{}", encoding::sha256(body)));
    }
    session.bind(request, &message)
}

fn id(query: &str) -> String {
    format!("q_{}", &encoding::sha256(format!("json\0{query}"))[..32])
}

fn json_request(method: &str, path: &str, body: &Value) -> Request {
    Request { method: method.to_owned(), ..Request::post(path, &body.to_string()) }
}

fn form(path: &str, statement: &Value) -> Request {
    let body =
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nhello\r\n--b--\r\n";
    let request = Request::new("POST", path).query(&statement.to_string());
    request.header("Content-Type", "multipart/form-data; boundary=b").body(body)
}

/// The blog with a column that no registered query selects.
fn registered_only(registration: &str) -> (Server, Database) {
    let blog = Database::blog();
    let schema = json!({
        "entities": {
            "post": {
                "fields": ["id", "title", "likes", "authorId", "picture"], "columns": {"authorId": "author_id"},
                "writable": true, "uploads": {"picture": {}}
            },
            "user": {"fields": ["id", "name"], "writable": true},
            "tag": {"fields": ["id", "label"], "writable": true},
        },
        "joins": {
            "post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"},
            "user.posts": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"},
            "post.tags": {"entity": "tag", "type": "many",
                          "through": {"table": "post_tags", "from": "post_id", "to": "tag_id"}},
        }
    });
    let schema = blog.dir.write("schema.json", &schema.to_string());
    let queries = json!([{"query": TITLE}, {"query": r#"{"user":{"$select":{"id":true}}}"#}]);
    let queries = blog.dir.write("queries.json", &queries.to_string());
    let config = format!(
        "{}[persisted]\nonly = true\nregistration = \"{registration}\"\npreload = \"{queries}\"\n",
        everything(blog.dir.path())
    );
    let config = blog.dir.write("mesh.toml", &config);
    let server = Server::start(&["--database", &blog.url(), "--schema", &schema, "--config", &config]);
    (server, blog)
}

/// Attack with a session of few rights: a query that is not registered, on any route.
#[test]
fn with_registered_queries_only_no_route_answers_another_shape() {
    let (server, _blog) = registered_only("closed");
    let likes = r#"{"post":{"$select":{"likes":true}}}"#;
    let posted = |more: Value| {
        let mut body = json!({"query": likes, "id": 1});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let new_post = json!({"title": "New", "authorId": 1});
    let refused = [
        ("a read", Request::get("/mesh/post/1", likes)),
        ("a list", Request::get("/mesh/post", likes)),
        ("HEAD", Request::new("HEAD", "/mesh/post/1").query(likes)),
        ("PUT without a body", Request::new("PUT", "/mesh/post/1").query(likes)),
        ("a posted read", json_request("POST", "/mesh", &posted(json!({})))),
        ("a stream", Request::get("/mesh/post/1/events", likes)),
        ("registration", json_request("POST", "/mesh/queries", &json!({"query": likes}))),
        ("execute", json_request("POST", "/docs/execute", &posted(json!({})))),
        ("a check", json_request("POST", "/docs/execute", &posted(json!({"check": true})))),
        ("an explanation", json_request("POST", "/docs/execute", &posted(json!({"explain": true})))),
        ("execute of no query", json_request("POST", "/docs/execute", &json!({"query": "{ no }"}))),
        ("an empty update", json_request("PUT", "/mesh/post/1", &json!({}))),
        ("an update", json_request("PUT", "/mesh/post/1", &json!({"title": "Changed"}))),
        ("an update with a shape", json_request("PUT", "/mesh/post/1", &json!({})).query(likes)),
        ("a creation", json_request("POST", "/mesh/post", &new_post)),
        ("a creation with a shape", json_request("POST", "/mesh/post", &new_post).query(likes)),
        ("a child", json_request("POST", "/mesh/user/1/posts", &json!({"title": "Child"}))),
        (
            "a child with a shape",
            json_request("POST", "/mesh/user/1/posts", &json!({"title": "C"})).query(likes),
        ),
        ("a new link", json_request("PUT", "/mesh/post/1/author", &json!({"entityId": 2}))),
    ];
    let mut faults = Vec::new();
    for (name, request) in refused {
        let reply = server.send(&request);
        let is_refused = match request.method.as_str() {
            "HEAD" => reply.status == 403,
            _ => why(&reply) == (403, "QUERY_NOT_ALLOWED".to_owned()),
        };
        if !is_refused {
            faults.push(format!("{name}: {} {}", reply.status, reply.text()));
        }
    }
    let stream = server.connect().send(&Request::get("/mesh/post/1/events", likes));
    assert!(!stream.is_event_stream());
    let by_id = |request: Request, query: &str| request.header("X-Mesh-Query-Id", id(query));
    let user = r#"{"user":{"$select":{"id":true}}}"#;
    let title = json!({"title": "Rust at dawn"});
    let answered: [(&str, Request, u16, Value); 9] = [
        ("a read", by_id(Request::new("GET", "/mesh/post/1"), TITLE), 200, title.clone()),
        ("an update", by_id(json_request("PUT", "/mesh/post/1", &json!({})), TITLE), 200, title),
        (
            "a creation",
            by_id(json_request("POST", "/mesh/post", &new_post), TITLE),
            201,
            json!({"title": "New"}),
        ),
        (
            "a child",
            by_id(json_request("POST", "/mesh/user/1/posts", &json!({"title": "Child"})), TITLE),
            201,
            json!({"title": "Child"}),
        ),
        (
            "a new link",
            by_id(json_request("PUT", "/mesh/post/1/author", &json!({"entityId": 2})), user),
            200,
            json!({"id": 2}),
        ),
        ("a pair", json_request("POST", "/mesh/post/1/tags", &json!({"entityId": 2})), 204, Value::Null),
        ("a removed pair", Request::new("DELETE", "/mesh/post/1/tags/2"), 204, Value::Null),
        ("a removed record", Request::new("DELETE", "/mesh/tag/2"), 409, Value::Null),
        (
            "execute",
            json_request("POST", "/docs/execute", &json!({"query": TITLE, "id": 3})),
            200,
            Value::Null,
        ),
    ];
    for (name, request, status, body) in answered {
        let reply = server.send(&request);
        if reply.status != status || (body != Value::Null && reply.json() != body) {
            faults.push(format!("{name} by id: {} {}", reply.status, reply.text()));
        }
    }
    // The reply to an upload has no shape: it describes the file, and names the record.
    let reply = server.send(&form("/mesh/post/2/picture", &json!({"post": {"picture": {"upload": true}}})));
    let mut names: Vec<String> = reply.json().as_object().unwrap().keys().cloned().collect();
    names.sort();
    if names != ["contentHash", "contentType", "picture", "size", "url"] {
        faults.push(format!("an upload: {}", reply.text()));
    }
    report(&faults);
}

const ACCOUNTS: &str = "
INSERT INTO accounts (id, email, password_hash, role)
    SELECT 3, 'viewer@example.org', password_hash, 'viewer' FROM accounts WHERE id = 1;
CREATE TABLE vaults (id INTEGER PRIMARY KEY, label TEXT, scan TEXT, post_id INTEGER REFERENCES posts (id));
ALTER TABLE posts ADD COLUMN secret TEXT;
ALTER TABLE posts ADD COLUMN vault_id INTEGER REFERENCES vaults (id);
INSERT INTO vaults VALUES (1, 'one', NULL, 1);
";

/// A server where the role `viewer` sees neither the entity `vault`, nor the relations to it, nor `post.secret`.
fn curtained() -> (Server, Deployment) {
    let deployment = Deployment::new("");
    let connection = rusqlite::Connection::open(deployment.database.dir.path().join("data.db")).unwrap();
    connection.execute_batch(ACCOUNTS).unwrap();
    let schema = json!({
        "entities": {
            "post": {
                "fields": ["id", "title", "banner", "secret"], "writable": true,
                "uploads": {"banner": {}, "secret": {"maxBytes": 10}}
            },
            "vault": {"fields": ["id", "label", "scan"], "writable": true, "uploads": {"scan": {"maxBytes": 10}}},
        },
        "joins": {
            "post.boxes": {"entity": "vault", "on": "vaults.post_id = posts.id", "type": "many"},
            "post.safe": {"entity": "vault", "on": "vaults.id = posts.vault_id", "type": "one"},
        },
        "policies": {
            "admin": true,
            "viewer": {"post": {"fields": ["id", "title", "banner"], "writable": ["title", "banner"]}},
        }
    });
    let schema = deployment.database.dir.write("schema.json", &schema.to_string());
    let more = deployment.database.dir.write("more.toml", &everything(deployment.database.dir.path()));
    let config = [&deployment.config, &more].map(|file| std::fs::read_to_string(file).unwrap()).concat();
    let config = deployment.database.dir.write("mesh.toml", &config);
    let server = Server::start(&["--config", &config, "--schema", &schema]);
    (server, deployment)
}

/// Requests that name an entity, a field and two relations, which exist or do not.
fn probes(entity: &str, field: &str, many: &str, one: &str) -> Vec<(String, Request)> {
    let select = |name: &str, inner: Value| json!({name: {"$select": inner}}).to_string();
    let post = |more: Value| {
        let mut node = json!({"$select": {"id": true}});
        node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"post": node}).to_string()
    };
    let nested = |name: &str| select("post", json!({name: {"$select": {"id": true}}}));
    let queries: [(&str, &str, String); 9] = [
        ("an entity", entity, select(entity, json!({"id": true}))),
        ("a field", "post", select("post", json!({field: true}))),
        ("a filter", "post", post(json!({"$where": {"field": field, "op": "eq", "value": "x"}}))),
        ("an order", "post", post(json!({"$orderBy": [{"field": field, "direction": "asc"}]}))),
        (
            "a group",
            "post",
            json!({"post": {"$select": {}, "$groupBy": [field], "$aggregate": {"n": {"fn": "count"}}}})
                .to_string(),
        ),
        (
            "an aggregate",
            "post",
            json!({"post": {"$select": {}, "$aggregate": {"n": {"fn": "max", "field": field}}}}).to_string(),
        ),
        ("distinct", "post", json!({"post": {"$select": {field: true}, "$distinct": [field]}}).to_string()),
        ("a relation", "post", nested(many)),
        ("a to-one relation", "post", nested(one)),
    ];
    let mut probes = Vec::new();
    for (what, root, query) in &queries {
        let mut add = |route: &str, request: Request| probes.push((format!("{what} in {route}"), request));
        add("a list", Request::get(&format!("/mesh/{root}"), query));
        add("a read", Request::get(&format!("/mesh/{root}/1"), query));
        add("PUT", Request::new("PUT", &format!("/mesh/{root}/1")).query(query));
        add("a stream", Request::get(&format!("/mesh/{root}/1/events"), query));
        add("another path", Request::get("/mesh/post/1", query));
        add("a posted read", json_request("POST", "/mesh", &json!({"query": query})));
        add("a registration", json_request("POST", "/mesh/queries", &json!({"query": query})));
        add(
            "a read by id",
            Request::new("GET", &format!("/mesh/{root}/1")).header("X-Mesh-Query-Id", id(query)),
        );
        let stream = Request::new("GET", &format!("/mesh/{root}/1/events"));
        add("a stream by id", stream.header("X-Mesh-Query-Id", id(query)));
        add("a list by id", Request::new("GET", "/mesh/post").header("X-Mesh-Query-Id", id(query)));
        let shaped = json_request("PUT", "/mesh/post/1", &json!({"title": "x"}));
        add("a write", shaped.clone().query(query));
        add("a write by id", shaped.header("X-Mesh-Query-Id", id(query)));
        add("execute", json_request("POST", "/docs/execute", &json!({"query": query})));
        add("a check", json_request("POST", "/docs/execute", &json!({"query": query, "check": true})));
    }
    let fields = json!({"title": "x"});
    let to = json!({"entityId": 1});
    let mut add = |what: &str, request: Request| probes.push((what.to_owned(), request));
    add("an update of a field", json_request("PUT", "/mesh/post/1", &json!({field: "x"})));
    add("a creation with a field", json_request("POST", "/mesh/post", &json!({"title": "x", field: "x"})));
    for (method, path) in [("PUT", format!("/mesh/{entity}/1")), ("POST", format!("/mesh/{entity}"))] {
        add("a write of an entity", json_request(method, &path, &fields));
    }
    add("a deletion of an entity", Request::new("DELETE", &format!("/mesh/{entity}/1")));
    add("a child", json_request("POST", &format!("/mesh/post/1/{many}"), &fields));
    add("a child of an entity", json_request("POST", &format!("/mesh/{entity}/1/posts"), &fields));
    add("a link", json_request("PUT", &format!("/mesh/post/1/{one}"), &to));
    add("a cleared link", Request::new("DELETE", &format!("/mesh/post/1/{one}")));
    add("a removed child", Request::new("DELETE", &format!("/mesh/post/1/{many}/1")));
    add("a relation of the other kind", json_request("POST", &format!("/mesh/post/1/{one}"), &fields));
    for (path, root, field) in [
        (format!("/mesh/{entity}/1/scan"), entity, "scan"),
        (format!("/mesh/{entity}"), entity, "scan"),
        (format!("/mesh/post/1/{field}"), "post", field),
        (format!("/mesh/post/1/{many}"), "post", many),
        ("/mesh/post".to_owned(), "post", field),
    ] {
        let statement = json!({root: {field: {"upload": true}}, "contentHash": format!("sha256:{}", encoding::sha256("hello"))});
        add(&format!("an upload to {path}"), form(&path, &statement));
        let large = Request { body: None, ..form(&path, &statement) };
        for length in ["200000", "100000000"] {
            let large = large.clone().header("Content-Length", length).header("Expect", "100-continue");
            add(&format!("an upload of {length} bytes to {path}"), large);
        }
    }
    probes
}

/// Returns status, kind, code, message and path of a reply without the names that it was asked about.
fn answer(reply: &Response, names: [&str; 4]) -> String {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let body = body.get("meta").and_then(|meta| meta.get("fault")).unwrap_or(&body);
    let parts = ["error", "code", "message", "path", "line", "column"].map(|name| body[name].to_string());
    let mut text = format!("{} {}", reply.status, parts.join(" "));
    for (name, letter) in names.iter().zip(["E", "F", "M", "O"]) {
        text = text.replace(name, letter);
    }
    text
}

/// Attack with a session of few rights: distinguishing a hidden name from one that does not exist by an error
/// or a suggestion, on any route.
#[test]
fn hidden_names_are_answered_like_names_that_do_not_exist() {
    let (server, _deployment) = curtained();
    let begin = |name: &str| {
        let body = login(&server, name, PASSWORD).json();
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        Session { token: text("token"), signing_token: text("signingToken") }
    };
    let (admin, viewer) = (begin("ada@example.org"), begin("viewer@example.org"));
    // Names of equal length, far from all others, so that no other name is suggested.
    let (hidden, absent) = (["vault", "secret", "boxes", "safe"], ["qqqqq", "wwwwww", "jjjjj", "kkkk"]);
    let probes_of = |[entity, field, many, one]: [&str; 4]| probes(entity, field, many, one);
    // The admin may do all of this, and registers each query.
    let mut accepted = 0;
    for (what, request) in probes_of(hidden) {
        if what.contains("registration") {
            let reply = server.send(&signed(&admin, request));
            assert_eq!(reply.status, 200, "{what}: {}", reply.text());
            accepted += 1;
        }
    }
    assert_eq!(accepted, 9);
    let mut faults = Vec::new();
    for sender in [Some(&viewer), None] {
        for ((what, known), (_, unknown)) in probes_of(hidden).into_iter().zip(probes_of(absent)) {
            let send = |request: Request| match sender {
                Some(session) => server.send(&signed(session, request)),
                None => server.send(&request),
            };
            let (known, unknown) = (answer(&send(known), hidden), answer(&send(unknown), absent));
            if known != unknown {
                let who = if sender.is_some() { "viewer" } else { "no session" };
                faults.push(format!("{who}, {what}: {known}\n    in place of {unknown}"));
            }
            if known.starts_with('2') && !what.contains("a check") {
                faults.push(format!("{what}: {known}"));
            }
        }
    }
    let token = Request::new("GET", "/docs/schema").header("X-Mesh-Token", &viewer.token);
    let schema = server.send(&token).text();
    for name in hidden {
        assert!(!schema.contains(name), "{schema}");
    }
    report(&faults);
}
