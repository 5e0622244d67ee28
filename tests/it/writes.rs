//! Write routes and their statuses.

mod engines;

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
    "user": {"fields": ["id", "name", "email", "age", "active"], "writable": ["name", "email", "age", "active"]},
    "profile": {"fields": ["id", "bio"], "writable": true},
    "badge": {"fields": ["id", "name"], "writable": ["name"]},
    "post": {
      "fields": ["id", "title", "status", "data", "picture", "balance", "createdAt", "authorId"],
      "columns": {"createdAt": "created_at", "authorId": "author_id"},
      "types": {"data": "json"},
      "computed": {"heading": {"from": ["title", "status"], "template": "{title} ({status})"}},
      "writable": ["title", "data", "picture", "balance", "createdAt", "authorId"]
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
fn children_are_created_and_deleted_under_their_parent() {
    let shop = Shop::open();
    let reply = shop.write("POST", "/user/2/posts", r#"{"title": "Child"}"#);
    assert_eq!((reply.status, reply.header("location")), (201, Some("/mesh/post/4")));
    assert_eq!(reply.json()["authorId"], 2);
    shop.refused(
        &shop.write("POST", "/user/9/posts", r#"{"title": "Orphan"}"#),
        404,
        "NotFound",
        "There is no 'user' with the id '9'",
    );
    shop.refused(
        &shop.write("POST", "/user/2/posts", r#"{"title": "x", "authorId": 1}"#),
        400,
        "ValidationError",
        "'authorId' is set by the relation 'posts' of the path; leave it out",
    );
    // The child of another parent is not found under this one.
    shop.refused(&shop.delete("/user/1/posts/4"), 404, "NotFound", "There is no 'post' with the id '4'");
    assert_eq!(shop.delete("/user/2/posts/4").status, 204);
    assert_eq!(shop.cell("SELECT count(*) FROM posts").as_deref(), Some("3"));
}

#[test]
fn many_to_many_links_are_created_once_and_removed() {
    let shop = Shop::open();
    let pairs = || shop.cell("SELECT group_concat(post_id || tag, ',') FROM post_tags");
    for id in [r#"{"entityId": "a/b"}"#, r#"{"entityId": "a/b"}"#, r#"{"entityId": "rust"}"#] {
        let reply = shop.write("POST", "/post/1/tags", id);
        assert_eq!((reply.status, reply.text().as_str(), reply.header("location")), (204, "", None));
    }
    assert_eq!(pairs().as_deref(), Some("1rust,1a/b"));
    let missing = "There is no 'tag' with the id 'none'";
    shop.refused(&shop.write("POST", "/post/1/tags", r#"{"entityId": "none"}"#), 404, "NotFound", missing);
    let missing = "There is no 'post' with the id '9'";
    shop.refused(&shop.write("POST", "/post/9/tags", r#"{"entityId": "rust"}"#), 404, "NotFound", missing);
    assert_eq!(shop.delete("/post/1/tags/a%2Fb").status, 204);
    shop.refused(&shop.delete("/post/1/tags/a%2Fb"), 404, "NotFound", "There is no 'tag' with the id 'a/b'");
    assert_eq!(pairs().as_deref(), Some("1rust"));
    assert_eq!(shop.cell("SELECT count(*) FROM tags").as_deref(), Some("2"), "tags stay");
    // Ids may be numbers.
    assert_eq!(shop.write("PUT", "/post/1/editor", r#"{"entityId": "3"}"#).json()["name"], "Cy");
    assert_eq!(shop.write("PUT", "/post/1/editor", r#"{"entityId": 1}"#).json()["name"], "Ada");
}

#[test]
fn to_one_relations_are_connected_replaced_and_disconnected() {
    let shop = Shop::open();
    let reply = shop.write("PUT", "/post/2/editor", r#"{"entityId": 3}"#);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.text(), r#"{"id":3,"name":"Cy","email":null,"age":null,"active":null}"#);
    assert_eq!(shop.read("/post/2", "{ post editor { name } }"), json!({"editor": {"name": "Cy"}}));
    assert_eq!(shop.delete("/post/2/editor").status, 204);
    assert_eq!(shop.delete("/post/2/editor").status, 204, "ended already");
    assert_eq!(shop.read("/post/2", "{ post editor { name } }"), json!({"editor": null}));
    let missing = "There is no 'user' with the id '9'";
    shop.refused(&shop.write("PUT", "/post/2/editor", r#"{"entityId": 9}"#), 404, "NotFound", missing);
    let missing = "There is no 'post' with the id '9'";
    shop.refused(&shop.delete("/post/9/editor"), 404, "NotFound", missing);
    // A required key cannot be cleared.
    let reply = shop.delete("/post/2/author");
    shop.refused(&reply, 409, "ConflictError", "'authorId' must not be null");
}

#[test]
fn a_foreign_key_on_the_other_side_is_updated() {
    let shop = Shop::open();
    let owners = || shop.cell("SELECT group_concat(coalesce(user_id, '-'), ',') FROM profiles").unwrap();
    let reply = shop.write("PUT", "/user/1/profile", r#"{"entityId": 2}"#);
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":2,"bio":"second"}"#));
    assert_eq!(owners(), "-,1");
    assert_eq!(shop.write("PUT", "/user/2/profile", r#"{"entityId": 2}"#).status, 200);
    assert_eq!(owners(), "-,2");
    assert_eq!(shop.delete("/user/2/profile").status, 204);
    assert_eq!(owners(), "-,-");
    // The key of a badge is required, so a badge can move only to a record that has none.
    let reply = shop.write("PUT", "/user/1/badge", r#"{"entityId": 2}"#);
    shop.refused(&reply, 409, "ConflictError", "A required value is missing or null");
    assert_eq!(shop.write("PUT", "/user/3/badge", r#"{"entityId": 2}"#).status, 200);
    assert_eq!(shop.delete("/user/3/badge").status, 409);
    assert_eq!(shop.cell("SELECT user_id FROM badges WHERE id = 2").as_deref(), Some("3"));
}

#[test]
fn only_writable_fields_are_written() {
    let shop = Shop::open();
    let refused = |method: &str, path: &str, body: &str, message: &str| {
        shop.refused(&shop.write(method, path, body), 400, "ValidationError", message);
    };
    refused("PUT", "/user/1", r#"{"id": 7}"#, "Field 'id' on entity 'user' is not writable");
    refused("PUT", "/user/1", r#"{"secret": "x"}"#, "Field 'secret' not found on entity 'user'");
    refused("PUT", "/post/1", r#"{"status": "x"}"#, "Field 'status' on entity 'post' is not writable");
    let computed = "'heading' is a computed field; write the fields that it is computed from";
    refused("PUT", "/post/1", r#"{"heading": "x"}"#, computed);
    refused("PUT", "/note/1", r#"{"text": "x"}"#, "Field 'text' on entity 'note' is not writable");
    refused("POST", "/note", "{}", "Entity 'note' is not writable");
    refused("DELETE", "/note/1", "", "Entity 'note' is not writable");
    refused(
        "PUT",
        "/user/1",
        r#"{"nam": "x"}"#,
        "Field 'nam' not found on entity 'user'; did you mean 'name'?",
    );
    refused("POST", "/usr", "{}", "Entity 'usr' not found; did you mean 'user'?");
    let relation = "Relation 'post' not found on entity 'user'; did you mean 'posts'?";
    refused("POST", "/user/1/post", "{}", relation);
    assert_eq!(shop.cell("SELECT text FROM notes").as_deref(), Some("fixed"));
    assert_eq!(shop.cell("SELECT secret FROM users WHERE id = 1").as_deref(), Some("hidden"));
}

#[test]
fn values_are_validated_and_stored_by_type() {
    let shop = Shop::open();
    let body = r#"{"title": "T", "data": {"b": [1, null], "a": true}, "picture": "AP8Q", "balance": "1.10",
        "createdAt": "2024-05-01T12:30:00+02:00"}"#;
    let reply = shop.write("PUT", "/post/1", body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let record = reply.json();
    assert_eq!(record["data"], json!({"b": [1, null], "a": true}));
    assert_eq!((record["picture"].as_str(), record["balance"].as_str()), (Some("AP8Q"), Some("1.1")));
    assert_eq!(record["createdAt"].as_str().map(|it| it.trim_end_matches('Z')), Some("2024-05-01T10:30:00"));
    assert_eq!(shop.cell("SELECT hex(picture) FROM posts WHERE id = 1").as_deref(), Some("00FF10"));
    let refused = |body: &str, message: &str| {
        shop.refused(&shop.write("PUT", "/user/1", body), 400, "ValidationError", message);
    };
    refused(r#"{"age": "old"}"#, r#"'age' takes a 64-bit integer, not the text "old""#);
    refused(r#"{"age": 1.5}"#, "'age' takes a 64-bit integer, not 1.5");
    refused(r#"{"active": 1}"#, "'active' takes true or false, not 1");
    refused(r#"{"name": ["x"]}"#, "'name' takes text, not a list");
    assert_eq!(shop.write("PUT", "/user/1", r#"{"age": null}"#).json()["age"], Value::Null);
}

#[test]
fn constraint_violations_are_conflicts() {
    let shop = Shop::open();
    let refused = |method: &str, path: &str, body: &str, message: &str| {
        shop.refused(&shop.write(method, path, body), 409, "ConflictError", message);
    };
    let taken = "Another record already has the same 'email', which must be unique";
    refused("PUT", "/user/1", r#"{"email": "bo@example.org"}"#, taken);
    refused("POST", "/user", r#"{"name": "x", "email": "bo@example.org"}"#, taken);
    refused("POST", "/user", "{}", "'name' is required, but has no value");
    refused("PUT", "/user/1", r#"{"name": null}"#, "'name' must not be null");
    refused("PUT", "/user/1", r#"{"age": -1}"#, "A value violates a condition of the database");
    let referred = "The write would leave a reference to a record that does not exist; write or delete the referring records first";
    refused("DELETE", "/user/1", "", referred);
    refused("PUT", "/post/1", r#"{"authorId": 9}"#, referred);
    refused(
        "POST",
        "/tag",
        r#"{"slug": "rust", "label": "again"}"#,
        "Another record already has the same 'slug', which must be unique",
    );
    assert_eq!(shop.cell("SELECT count(*) FROM users").as_deref(), Some("3"));
}

#[test]
fn methods_must_match_the_kind_of_relation() {
    let shop = Shop::open();
    let refused = |reply: Response, allow: &str| {
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allow)), "{}", reply.text());
        assert_eq!(reply.json()["error"], "MethodNotAllowed");
    };
    refused(shop.write("POST", "/post/1/author", "{}"), "PUT, DELETE, OPTIONS");
    refused(shop.write("PUT", "/user/1/posts", r#"{"entityId": 1}"#), "POST, OPTIONS");
    refused(shop.delete("/user/1/posts"), "POST, OPTIONS");
    refused(shop.delete("/post/1/author/1"), "PUT, DELETE, OPTIONS");
    let options = |path: &str| {
        let reply = shop.server.send(&Request::new("OPTIONS", &shop.server.path(path)));
        reply.header("allow").unwrap().to_owned()
    };
    assert_eq!(options("/user"), "GET, HEAD, POST, OPTIONS");
    assert_eq!(options("/user/1"), "GET, HEAD, PUT, DELETE, OPTIONS");
    assert_eq!(options("/user/1/posts"), "POST, PUT, DELETE, OPTIONS");
    assert_eq!(options("/user/1/posts/1"), "DELETE, OPTIONS");
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

#[test]
fn a_stopped_server_leaves_no_write_ahead_log() {
    let Shop { server, database } = Shop::open();
    assert_eq!(server.send(&Request::post(&server.path("/user"), r#"{"name": "Di"}"#)).status, 201);
    let copy = database.dir.path().join("copy.db");
    drop(server);
    std::fs::copy(database.file(), &copy).unwrap();
    let copy = rusqlite::Connection::open(copy).unwrap();
    let count: i64 = copy.query_row("SELECT count(*) FROM users", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 4);
}

#[test]
fn acknowledged_writes_survive_a_crash_and_none_is_partial() {
    let shop = Shop::open();
    let database = shop.database;
    let mut server = shop.server;
    let (address, base) = (server.address, server.base.clone());
    let writers: Vec<_> = (1..=3u32)
        .map(|user| {
            let base = base.clone();
            std::thread::spawn(move || {
                let mut done = Vec::new();
                for number in 0..100_000u32 {
                    let body = format!(r#"{{"title": "u{user} n{number}"}}"#);
                    let target = format!("{base}/user/{user}/posts");
                    let reply = std::panic::catch_unwind(|| {
                        mesh_tests::Connection::connect(address).send(&Request::post(&target, &body))
                    });
                    match reply {
                        Ok(reply) if reply.status == 201 => done.push(format!("u{user} n{number}")),
                        _ => break,
                    }
                }
                done
            })
        })
        .collect();
    // The process is killed after a third of a second of writes.
    std::thread::sleep(std::time::Duration::from_millis(350));
    server.signal("KILL");
    let _ = server.wait();
    let answered: Vec<String> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
    assert!(answered.len() > 3, "only {} writes before the end", answered.len());

    let connection = database.connect();
    let whole: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    let mut there = connection.prepare("SELECT title FROM posts").unwrap();
    let there: Vec<String> =
        there.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    for title in &answered {
        assert!(there.contains(title), "{title} was answered and is gone");
    }
    // At most one write of each client was pending without a reply.
    assert!(there.len() <= 3 + answered.len() + 3, "{} rows, {} answers", there.len(), answered.len());
    let schema = database.dir.path().join("schema.json").display().to_string();
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    let reply = server.send(&Request::post(&server.path("/user/1/posts"), r#"{"title": "after"}"#));
    assert_eq!(reply.status, 201);
}
