//! Write routes and their statuses.

mod batch;
mod conditional;
mod durability;
mod engines;
mod fields;
mod keys;
mod links;
mod many;
mod merge;
mod outcomes;
mod own_effects;
mod races;
mod references;
mod refused;
mod relations;
mod types;
mod values;

use mesh_tests::{Database, Request, Response, Server};
use serde_json::{Value, json};

/// Tables with every kind of relation and with constraints that writes can violate.
const SHOP: &str = "
CREATE TABLE users (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, age INTEGER CHECK (age >= 0),
    active BOOLEAN, secret TEXT DEFAULT 'hidden'
);
CREATE TABLE profiles (
    id INTEGER PRIMARY KEY, bio TEXT, user_id INTEGER UNIQUE REFERENCES users (id)
);
CREATE TABLE badges (
    id INTEGER PRIMARY KEY, name TEXT, user_id INTEGER NOT NULL UNIQUE REFERENCES users (id)
);
CREATE TABLE posts (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'draft', data JSON,
    picture BLOB, balance DECIMAL(10,2), created_at DATETIME,
    author_id INTEGER NOT NULL REFERENCES users (id), editor_id INTEGER REFERENCES users (id)
);
CREATE TABLE tags (slug TEXT PRIMARY KEY NOT NULL, label TEXT NOT NULL);
CREATE TABLE post_tags (
    post_id INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    tag TEXT NOT NULL REFERENCES tags (slug)
);
CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);
INSERT INTO users (id, name, email) VALUES (1, 'Ada', 'ada@example.org'), (2, 'Bo', 'bo@example.org'), (3, 'Cy', NULL);
INSERT INTO profiles VALUES (1, 'first', 1), (2, 'second', NULL);
INSERT INTO badges VALUES (1, 'gold', 1), (2, 'iron', 2);
INSERT INTO posts (id, title, author_id, editor_id) VALUES (1, 'One', 1, 2), (2, 'Two', 1, NULL), (3, 'Three', 2, NULL);
INSERT INTO tags VALUES ('rust', 'Rust'), ('a/b', 'Slash');
INSERT INTO post_tags VALUES (1, 'rust');
INSERT INTO notes VALUES (1, 'fixed');
";

const SCHEMA: &str = r#"{
  "entities": {
    "user": {"fields": ["id", "name", "email", "age", "active"], "writable": {"create": ["name", "email", "age", "active"], "update": ["name", "email", "age", "active"], "delete": true}},
    "profile": {"fields": ["id", "bio"], "writable": true},
    "badge": {"fields": ["id", "name"], "writable": ["name"]},
    "post": {
      "fields": ["id", "title", "status", "data", "picture", "balance", "createdAt", "authorId"],
      "columns": {"createdAt": "created_at", "authorId": "author_id"},
      "types": {"data": "json"},
      "computed": {"heading": {"from": ["title", "status"], "template": "{title} ({status})"}},
      "writable": {"create": ["title", "data", "picture", "balance", "createdAt", "authorId"], "update": ["title", "data", "picture", "balance", "createdAt", "authorId"], "delete": true}
    },
    "tag": {"fields": ["slug", "label"], "idField": "slug", "writable": true},
    "note": {"fields": ["id", "text"]}
  },
  "joins": {
    "post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"},
    "post.editor": {"entity": "user", "on": "users.id = posts.editor_id", "type": "one"},
    "user.posts": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"},
    "user.profile": {"entity": "profile", "on": "profiles.user_id = users.id", "type": "one"},
    "user.badge": {"entity": "badge", "on": "badges.user_id = users.id", "type": "one"},
    "post.tags": {"entity": "tag", "type": "many", "through": {"table": "post_tags", "from": "post_id", "to": "tag"}}
  }
}"#;

struct Shop {
    server: Server,
    database: Database,
}

impl Shop {
    fn open() -> Self {
        Self::with(&["--mutations"])
    }

    fn with(arguments: &[&str]) -> Self {
        let database = Database::new(SHOP);
        let schema = database.dir.write("schema.json", SCHEMA);
        let url = database.url();
        let mut all = vec!["--database", &url, "--schema", &schema];
        all.extend_from_slice(arguments);
        Self { server: Server::start(&all), database }
    }

    fn write(&self, method: &str, path: &str, body: &str) -> Response {
        let request = Request::new(method, &self.server.path(path));
        self.server.send(&request.header("Content-Type", "application/json").body(body))
    }

    fn delete(&self, path: &str) -> Response {
        self.server.send(&Request::new("DELETE", &self.server.path(path)))
    }

    fn read(&self, path: &str, query: &str) -> Value {
        let request = Request::get(&self.server.path(path), query).header("X-Mesh-Format", "ql");
        self.server.send(&request).json()
    }

    fn cell(&self, sql: &str) -> Option<String> {
        self.database
            .connect()
            .query_row(&format!("SELECT CAST(({sql}) AS TEXT)"), [], |row| row.get(0))
            .unwrap()
    }

    #[track_caller]
    fn refused(&self, reply: &Response, status: u16, error: &str, message: &str) {
        assert_eq!(reply.status, status, "{}", reply.text());
        let body = reply.json();
        assert_eq!((body["error"].as_str(), body["message"].as_str()), (Some(error), Some(message)));
        assert!(body["requestId"].is_string());
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn a_record_is_created_changed_and_deleted() {
    let shop = Shop::open();
    let reply = shop.write("POST", "/user", r#"{"name": "Di", "age": 41, "active": true}"#);
    assert_eq!((reply.status, reply.header("location")), (201, Some("/mesh/user/4")));
    assert_eq!(reply.text(), r#"{"id":4,"name":"Di","email":null,"age":41,"active":true}"#);
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));

    let reply = shop.write("PUT", "/user/4", r#"{"age": 42, "email": "di@example.org"}"#);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.text(), r#"{"id":4,"name":"Di","email":"di@example.org","age":42,"active":true}"#);
    assert_eq!(shop.read("/user/4", "{ user email }"), json!({"email": "di@example.org"}));

    let reply = shop.delete("/user/4");
    assert_eq!((reply.status, reply.text().as_str(), reply.header("content-type")), (204, "", None));
    assert_eq!(shop.read("/user/4", "{ user email }"), Value::Null);
    shop.refused(&shop.delete("/user/4"), 404, "NotFound", "There is no 'user' with the id '4'");
}

#[test]
fn the_query_determines_the_shape_of_the_reply() {
    let shop = Shop::open();
    let shaped = |method: &str, path: &str, body: &str, query: &str| {
        let request = Request::new(method, &shop.server.path(path)).header("X-Mesh-Format", "ql");
        let reply =
            shop.server.send(&request.query(query).header("Content-Type", "application/json").body(body));
        (reply.status, reply.text())
    };
    assert_eq!(
        shaped("PUT", "/post/1", r#"{"title": "New"}"#, "{ post heading author { name } tags { label } }"),
        (200, r#"{"heading":"New (draft)","author":{"name":"Ada"},"tags":[{"label":"Rust"}]}"#.to_owned())
    );
    assert_eq!(
        shaped("POST", "/user/3/posts", r#"{"title": "Own"}"#, "{ post id author { name } }"),
        (201, r#"{"id":4,"author":{"name":"Cy"}}"#.to_owned())
    );
    assert_eq!(
        shaped("PUT", "/post/1/editor", r#"{"entityId": 3}"#, "{ user name posts { id } }"),
        (200, r#"{"name":"Cy","posts":[{"id":4}]}"#.to_owned())
    );
    // An invalid query prevents the write.
    let (status, text) = shaped("PUT", "/post/1", r#"{"title": "Newer"}"#, "{ user id }");
    assert_eq!(status, 400, "{text}");
    let (status, text) = shaped("PUT", "/post/1", r#"{"title": "Newer"}"#, "{ post nope }");
    assert_eq!(status, 400, "{text}");
    assert_eq!(shop.cell("SELECT title FROM posts WHERE id = 1").as_deref(), Some("New"));
}

#[test]
fn put_without_a_body_is_a_read() {
    let shop = Shop::open();
    let request =
        Request::new("PUT", &shop.server.path("/user/1")).query(r#"{"user": {"$select": {"name": true}}}"#);
    let reply = shop.server.send(&request);
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"name":"Ada"}"#));
    let reply = shop.server.send(&request.body(""));
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"name":"Ada"}"#));
    let reply = shop.write("PUT", "/user/1", "{}");
    assert_eq!((reply.status, reply.json()["name"].as_str()), (200, Some("Ada")));
}

#[test]
fn bodies_must_be_json_objects() {
    let shop = Shop::open();
    let body = |body: &str| shop.write("PUT", "/user/1", body);
    for text in ["[]", "1", "{", "null", r#"{"name": "a", "name": "b"}"#, "{\"name\": \"\u{7}\"}"] {
        let reply = body(text);
        assert_eq!((reply.status, reply.json()["error"].as_str()), (400, Some("TransportError")), "{text}");
    }
    let send = |content_type: &str| {
        let request = Request::new("POST", &shop.server.path("/user"));
        shop.server.send(&request.header("Content-Type", content_type).body("{}")).status
    };
    for other in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
        assert_eq!(send(other), 415, "{other}");
    }
    let large = format!("{{\"name\": \"{}\"}}", "x".repeat(1024 * 1024));
    assert_eq!(body(&large).status, 413);
    let reply = shop.server.send(&Request::new("POST", &shop.server.path("/user?$select=x")).body("{}"));
    assert_eq!(reply.status, 400);
    assert_eq!(shop.cell("SELECT name FROM users WHERE id = 1").as_deref(), Some("Ada"));
}

#[test]
fn writes_are_refused_if_mutations_are_disabled() {
    let shop = Shop::with(&[]);
    for (method, path, allow) in [
        ("DELETE", "/user/1", "GET, HEAD, PUT, OPTIONS"),
        ("POST", "/user", "GET, HEAD, OPTIONS"),
        ("PUT", "/post/1/editor", "OPTIONS"),
        ("POST", "/post/1/tags", "OPTIONS"),
        ("DELETE", "/post/1/tags/rust", "OPTIONS"),
    ] {
        let reply = shop.write(method, path, r#"{"name": "x"}"#);
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allow)), "{method} {path}");
    }
    let request =
        Request::new("PUT", &shop.server.path("/user/1")).query(r#"{"user": {"$select": {"name": true}}}"#);
    let reply =
        shop.server.send(&request.header("Content-Type", "application/json").body(r#"{"name": "x"}"#));
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"name":"Ada"}"#));
}
