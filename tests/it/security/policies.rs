//! Policies: each role reads and writes what the schema document allows, and nothing else.

mod members;
mod relational;
mod side_channels;
mod view_as;

use std::time::UNIX_EPOCH;

use mesh_tests::kit::encoding;
use mesh_tests::{Cluster, Database, Request, Response, Server, encode, run};
use serde_json::{Value, json};

const PASSWORD: &str = "correct horse";

fn schema() -> Value {
    let own = json!({"field": "ownerId", "op": "eq", "value": {"session": "userId"}});
    json!({
        "entities": {
            "post": {
                "fields": ["id", "title", "published", "ownerId"],
                "columns": {"ownerId": "author_id"},
                "writable": {"create": ["title", "published", "ownerId"], "update": ["title", "published", "ownerId"], "delete": true}
            },
            "user": {"fields": ["id", "name", "age"], "writable": ["name"]},
            "comment": {"fields": ["id", "text"]}
        },
        "joins": {
            "post.owner": {"entity": "user", "type": "one", "on": "users.id = posts.author_id"},
            "post.comments": {"entity": "comment", "type": "many", "on": "comments.post_id = posts.id"},
            "user.posts": {"entity": "post", "type": "many", "on": "posts.author_id = users.id"}
        },
        "policies": {
            "admin": true,
            "editor": {
                "post": {
                    "$where": own,
                    "writable": {"create": ["title", "ownerId"], "update": ["title", "ownerId"], "delete": true}
                },
                "user": {"fields": ["id", "name"]}
            },
            "*": {"post": {"fields": ["id", "title"], "$where": {"field": "published", "op": "eq", "value": true}}}
        }
    })
}

/// The tables, in SQL that both databases accept.
const TABLES: &str = "
CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT NOT NULL, role TEXT, age INTEGER, password_hash TEXT);
CREATE TABLE posts (
    id BIGINT PRIMARY KEY, title TEXT NOT NULL, published BOOLEAN, author_id BIGINT REFERENCES users (id)
);
CREATE TABLE comments (id BIGINT PRIMARY KEY, text TEXT, post_id BIGINT REFERENCES posts (id));
INSERT INTO users (id, name, role, age) VALUES
    (1, 'Ada', 'admin', 36), (2, 'Bo', 'editor', 29), (3, 'Cy', 'editor', NULL), (4, 'Di', NULL, 41);
UPDATE users SET password_hash =
    '$argon2id$v=19$m=64,t=1,p=1$3e1luYIoMxw96wrMsBU8Gw$e2dj/3uWicLfrAGD6gghny9om1AGXRU0SqCeffeNaOI';
INSERT INTO posts VALUES
    (1, 'Rust at dawn', true, 1), (2, 'Slow bread', false, 2), (3, 'A map', true, 2), (4, 'Bicycle', NULL, 3);
INSERT INTO comments VALUES (1, 'first', 1);
";

/// A server with accounts of every role.
struct Site {
    server: Server,
    /// Kept until the server has stopped.
    _database: (Database, Option<Cluster>),
}

/// The token of a session and its signing key.
type Session = (String, String);

impl Site {
    /// Returns a site over SQLite and, if PostgreSQL is installed, one over PostgreSQL.
    fn both() -> impl Iterator<Item = Self> {
        Self::both_with(schema(), TABLES)
    }

    /// Returns the same sites with another document and other tables. The table `users` must be as in [`TABLES`].
    fn both_with(schema: Value, tables: &str) -> impl Iterator<Item = Self> + use<> {
        let sqlite = Database::new(tables);
        let url = sqlite.url();
        let sqlite = Self::open(&url, &schema, (sqlite, None));
        let postgres = Cluster::start().map(|cluster| {
            let url = cluster.database("site", tables);
            Self::open(&url, &schema, (Database::new(""), Some(cluster)))
        });
        std::iter::once(sqlite).chain(postgres)
    }

    fn open(url: &str, schema: &Value, database: (Database, Option<Cluster>)) -> Self {
        Self::open_with(url, schema, database, "")
    }

    /// Opens a site with more settings.
    fn open_with(url: &str, schema: &Value, database: (Database, Option<Cluster>), settings: &str) -> Self {
        let config = "[integrity]\nenabled = true\nsecret = \"a secret of this test, of more than 32 bytes\"\n\
             [integrity.users]\ntable = \"users\"\nid = \"id\"\nlogin = \"name\"\npassword = \"password_hash\"\nrole = \"role\"\n";
        let config = database.0.dir.write("mesh.toml", &format!("{config}{settings}"));
        let schema = database.0.dir.write("schema.json", &schema.to_string());
        let server =
            Server::start(&["--database", url, "--config", &config, "--schema", &schema, "--mutations"]);
        Self { server, _database: database }
    }

    fn login(&self, name: &str) -> Session {
        let body = json!({"login": name, "password": PASSWORD}).to_string();
        let reply = self.server.send(&Request::post("/mesh/auth", &body));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = |key: &str| reply.json()[key].as_str().unwrap().to_owned();
        (text("token"), text("signingToken"))
    }

    fn read(&self, (token, key): &Session, path: &str, query: &str) -> Response {
        let signature = encoding::signature(key, &encode(query));
        let request = Request::get(&format!("/mesh{path}"), query);
        self.server.send(&request.header("X-Mesh-Token", token).header("X-Mesh-Signature", signature))
    }

    /// Returns the items of a list or the message of the error.
    fn list(&self, session: &Session, query: &str) -> String {
        let root: Value = serde_json::from_str(query).unwrap();
        let entity = root.as_object().unwrap().keys().next().unwrap().clone();
        let reply = self.read(session, &format!("/{entity}"), query).json();
        match reply.get("items") {
            Some(items) => items.to_string(),
            None => reply["message"].as_str().unwrap().to_owned(),
        }
    }

    fn write(&self, (token, key): &Session, method: &str, path: &str, body: &Value) -> Response {
        let body = if method == "DELETE" { String::new() } else { body.to_string() };
        let mut request = Request::new(method, &format!("/mesh{path}")).header("X-Mesh-Token", token);
        let message = if body.is_empty() { String::new() } else { format!("\n{}", encoding::sha256(&body)) };
        let (time, nonce) = (UNIX_EPOCH.elapsed().unwrap().as_secs(), encoding::random(22));
        let message = format!("{message}\n{method}\n/mesh{path}\njson\n{time}\n{nonce}");
        request = request.header("X-Mesh-Timestamp", time.to_string()).header("X-Mesh-Nonce", &nonce);
        request = request.header("X-Mesh-Signature", encoding::signature(key, &message));
        if !body.is_empty() {
            request = request.header("Content-Type", "application/json").body(&body);
        }
        self.server.send(&request)
    }
}

#[test]
fn invalid_policies_prevent_the_start() {
    let database = Database::blog();
    for (change, place, words) in [
        (json!({"editor": {"poste": true}}), "policies.editor.poste", "did you mean 'post'?"),
        (
            json!({"editor": {"user": {"fields": ["names"]}}}),
            "policies.editor.user.fields[0]",
            "did you mean 'name'?",
        ),
        (
            json!({"*": {"post": {"$where": {"field": "published", "op": "eq", "value": "yes"}}}}),
            "policies.*.post.$where",
            "takes true or false",
        ),
    ] {
        let mut wrong = schema();
        wrong["policies"] = change;
        let path = database.dir.write("wrong.json", &wrong.to_string());
        let output = run(&["check", "--schema", &path, "--database", &database.url()]);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains(place) && said.contains(words), "{said}");
        let output =
            run(&["serve", "--schema", &path, "--database", &database.url(), "--listen", "127.0.0.1:0"]);
        assert_eq!(output.status.code(), Some(2), "nothing is served");
    }
}
