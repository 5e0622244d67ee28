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
mod types;

use mesh_tests::{Database, Request, Response, Server};

const SHOP: &str = "
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE);
CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, author_id INTEGER NOT NULL REFERENCES users (id));
INSERT INTO users VALUES (1, 'Ada', 'ada@example.org'), (2, 'Bo', 'bo@example.org'), (3, 'Cy', NULL);
INSERT INTO posts VALUES (1, 'One', 1), (2, 'Two', 1), (3, 'Three', 2);
";

const SCHEMA: &str = r#"{
  "entities": {
    "user": {"fields": ["id", "name", "email"], "writable": {"create": ["name", "email"], "update": ["name", "email"], "delete": true}},
    "post": {"fields": ["id", "title"], "writable": {"create": ["title"], "update": ["title"], "delete": true}}
  },
  "joins": {
    "user.posts": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"},
    "post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"}
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
        let server = Server::start(&[&["--database", &url, "--schema", &schema], arguments].concat());
        Self { server, database }
    }

    fn write(&self, method: &str, path: &str, body: &str) -> Response {
        self.server.send(&Request::json(method, &self.server.path(path), body))
    }
}
