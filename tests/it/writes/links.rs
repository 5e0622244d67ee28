//! Links to records that are visible, hidden or missing, by every route that can write one and for every kind of role.

use mesh_tests::kit::encoding;
use mesh_tests::{Cluster, Database, Request, Server, encode};
use serde_json::{Value, json};

const PASSWORD: &str = "correct horse";

/// A record of each kind that can be linked: 1 is visible to restricted roles, 2 is hidden from them, 99 is missing.
const TARGETS: [u32; 3] = [1, 2, 99];

/// In SQL that both databases accept; `ID` is the type of a key that the database assigns.
const TABLES: &str = "
CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT, role TEXT, tenant INTEGER, password_hash TEXT);
CREATE TABLE posts (
    id ID, title TEXT, tenant INTEGER DEFAULT 1, owner_id BIGINT REFERENCES users (id), image TEXT
);
CREATE TABLE labels (id ID, tenant INTEGER);
CREATE TABLE post_labels (post_id BIGINT REFERENCES posts (id), label_id BIGINT REFERENCES labels (id));
CREATE TABLE covers (id ID, tenant INTEGER, post_id BIGINT REFERENCES posts (id));
CREATE TABLE secrets (id ID);
CREATE TABLE keys (id ID, secret_id BIGINT REFERENCES secrets (id), user_id BIGINT REFERENCES users (id));
INSERT INTO users (id, name, role, tenant) VALUES
    (1, 'visible', NULL, 1), (2, 'hidden', NULL, 2), (3, 'admin', 'admin', 1), (4, 'writer', 'writer', 1),
    (5, 'titles', 'titles', 1), (6, 'blind', 'blind', 1), (7, 'self', 'self', 1), (8, 'editor', 'editor', 1),
    (9, 'checked', 'checked', 1), (10, 'unchecked', 'unchecked', 1);
UPDATE users SET password_hash =
    '$argon2id$v=19$m=64,t=1,p=1$3e1luYIoMxw96wrMsBU8Gw$e2dj/3uWicLfrAGD6gghny9om1AGXRU0SqCeffeNaOI';
INSERT INTO posts (id, title, tenant, owner_id) VALUES
    (1, 'one', 1, 1), (2, 'two', 2, 2), (3, 'three', 1, 2), (4, 'four', 1, 1), (5, 'five', 2, 1), (6, 'six', 1, 7),
    (7, 'seven', 1, 1);
INSERT INTO labels (id, tenant) VALUES (1, 1), (2, 2);
INSERT INTO post_labels (post_id, label_id) VALUES (4, 1), (4, 2);
INSERT INTO covers (id, tenant) VALUES (1, 1), (2, 2);
INSERT INTO secrets (id) VALUES (1), (2);
INSERT INTO keys (id, user_id) VALUES (1, 1);
";

fn schema() -> Value {
    let tenant = json!({"field": "tenant", "op": "eq", "value": 1});
    let seen = json!({"$where": tenant});
    let own = json!({"field": "ownerId", "op": "eq", "value": {"session": "userId"}});
    let all = json!({"$where": tenant, "writable": true});
    json!({
        "entities": {
            "user": {"fields": ["id", "name", "tenant"], "writable": ["name"]},
            "post": {
                "fields": ["id", "title", "tenant", "ownerId", "image"],
                "columns": {"ownerId": "owner_id"},
                "uploads": {"image": {}},
                "writable": {"create": ["title", "tenant", "ownerId"], "update": ["title", "ownerId"], "delete": true}
            },
            "label": {"fields": ["id", "tenant"]},
            "cover": {"fields": ["id", "tenant", "postId"], "columns": {"postId": "post_id"}, "writable": true},
            "secret": {"fields": ["id"]},
            "key": {
                "fields": ["id", "secretId", "userId"],
                "columns": {"secretId": "secret_id", "userId": "user_id"},
                "writable": true
            }
        },
        "joins": {
            "post.owner": {"entity": "user", "type": "one", "on": "users.id = posts.owner_id"},
            "user.posts": {"entity": "post", "type": "many", "on": "posts.owner_id = users.id"},
            "post.cover": {"entity": "cover", "type": "one", "on": "covers.post_id = posts.id"},
            "post.labels": {
                "entity": "label", "type": "many",
                "through": {"table": "post_labels", "from": "post_id", "to": "label_id"}
            }
        },
        "policies": {
            "admin": true,
            "writer": {"user": seen, "post": all, "label": seen, "cover": all, "key": true},
            "titles": {
                "user": seen, "label": seen,
                "post": {"fields": ["id", "title"], "$where": tenant, "writable": ["title"]}
            },
            "blind": {"post": all, "key": {"writable": true}},
            "self": {"post": {"$where": own, "writable": true}},
            "checked": {"post": {"$check": own, "writable": true}},
            "unchecked": {"post": {"$where": own, "$check": tenant, "writable": true}},
            "editor": {
                "user": seen, "label": seen,
                "post": {"$where": tenant, "writable": {"update": ["title"]}}
            }
        }
    })
}

/// A server with accounts of every role.
pub(super) struct Site {
    server: Server,
    pub(super) name: &'static str,
    pub(super) sqlite: Database,
    pub(super) cluster: Option<Cluster>,
}

/// A role's session: the token and its signing key.
pub(super) struct Session {
    token: String,
    key: String,
}

impl Site {
    pub(super) fn both() -> impl Iterator<Item = Self> {
        let sqlite = Database::new(&TABLES.replace(" ID", " INTEGER PRIMARY KEY"));
        let url = sqlite.url();
        let postgres = Cluster::start().map(|cluster| {
            let identity = " BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 1000) PRIMARY KEY";
            let url = cluster.database("site", &TABLES.replace(" ID", identity));
            Self::open("PostgreSQL", &url, (Database::new(""), Some(cluster)))
        });
        std::iter::once(Self::open("SQLite", &url, (sqlite, None))).chain(postgres)
    }

    fn open(name: &'static str, url: &str, database: (Database, Option<Cluster>)) -> Self {
        let config = "[integrity]\nenabled = true\nsecret = \"a secret of this test, of more than 32 bytes\"\n\
             binding = \"off\"\n[integrity.users]\ntable = \"users\"\nid = \"id\"\nlogin = \"name\"\n\
             password = \"password_hash\"\nrole = \"role\"\n[limits]\nlogin_per_minute = 1000\n\
             [uploads]\nenabled = true\n[mutations]\nenabled = true\n";
        let store =
            format!("store = \"file:{}\"\n[mutations]", database.0.dir.path().join("files").display());
        let config = database.0.dir.write("mesh.toml", &config.replace("[mutations]", &store));
        let schema = database.0.dir.write("schema.json", &schema().to_string());
        let server = Server::start(&["--database", url, "--config", &config, "--schema", &schema]);
        let (sqlite, cluster) = database;
        Self { server, name, sqlite, cluster }
    }

    pub(super) fn login(&self, role: &str) -> Session {
        let body = json!({"login": role, "password": PASSWORD}).to_string();
        let reply = self.server.send(&Request::post("/mesh/auth", &body));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = |key: &str| reply.json()[key].as_str().unwrap().to_owned();
        Session { token: text("token"), key: text("signingToken") }
    }

    fn send(&self, session: &Session, request: Request, message: &str) -> (u16, Value) {
        let signature = encoding::signature(&session.key, message);
        let request = request.header("X-Mesh-Token", &session.token).header("X-Mesh-Signature", signature);
        let reply = self.server.send(&request);
        let body = if reply.text().is_empty() { Value::Null } else { reply.json() };
        (reply.status, body)
    }

    pub(super) fn write(&self, session: &Session, method: &str, path: &str, body: &str) -> (u16, Value) {
        let request = Request::new(method, &format!("/mesh{path}"));
        if body.is_empty() {
            return self.send(session, request, "");
        }
        let message = format!("\n{}", encoding::sha256(body.as_bytes()));
        self.send(session, request.header("Content-Type", "application/json").body(body), &message)
    }

    /// Uploads a file with `meta`.
    pub(super) fn upload(&self, session: &Session, path: &str, meta: &str) -> (u16, Value) {
        let hash = encoding::sha256(b"hello");
        let statement = format!(r#"{{"post":{{"image":{{"upload":true}}}},"contentHash":"sha256:{hash}"}}"#);
        let body = format!(
            "--b\r\nContent-Disposition: form-data; name=\"meta\"\r\n\r\n{meta}\r\n--b\r\nContent-Disposition: \
             form-data; name=\"file\"; filename=\"a\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--\r\n"
        );
        let request = Request::new("POST", &format!("/mesh{path}"))
            .query(&statement)
            .header("Content-Type", "multipart/form-data; boundary=b")
            .body(body);
        self.send(session, request, &encode(&statement))
    }
}

/// A role, a route, and the statuses for a visible, a hidden and a missing target, which `T` stands for.
type Case = (&'static str, &'static str, &'static str, &'static str, [u16; 3]);

const CASES: &[Case] = &[
    // A role that may write the link and sees some of its targets.
    ("writer", "POST", "/post", r#"{"title": "x", "ownerId": T}"#, [201, 404, 404]),
    ("writer", "PUT", "/post/3", r#"{"ownerId": T}"#, [200, 404, 404]),
    ("writer", "PUT", "/post/3", r#"{"title": "x", "ownerId": "T"}"#, [400, 400, 400]),
    ("writer", "PUT", "/post/5", r#"{"ownerId": T}"#, [404, 404, 404]),
    ("writer", "PUT", "/post/3/owner", r#"{"entityId": T}"#, [200, 404, 404]),
    ("writer", "POST", "/user/T/posts", r#"{"title": "x"}"#, [201, 404, 404]),
    ("writer", "DELETE", "/user/T/posts/7", "", [204, 404, 404]),
    ("writer", "POST", "/post/3/labels", r#"{"entityId": T}"#, [204, 404, 404]),
    ("writer", "DELETE", "/post/4/labels/T", "", [204, 404, 404]),
    ("writer", "PUT", "/post/3/cover", r#"{"entityId": T}"#, [200, 404, 404]),
    ("writer", "PUT", "/cover/1", r#"{"postId": T}"#, [200, 404, 404]),
    ("writer", "POST", "/cover", r#"{"tenant": 1, "postId": T}"#, [201, 404, 404]),
    ("writer", "UPLOAD", "/post", r#"{"title": "x", "ownerId": T}"#, [201, 404, 404]),
    ("writer", "UPLOAD", "/post/3/image", r#"{"ownerId": T}"#, [200, 404, 404]),
    // A foreign key of the database that no relation declares.
    ("writer", "POST", "/key", r#"{"userId": T}"#, [201, 404, 404]),
    ("writer", "PUT", "/key/1", r#"{"secretId": T}"#, [404, 404, 404]),
    // A role that can neither see nor write the link.
    ("titles", "POST", "/user/T/posts", r#"{"title": "x"}"#, [400, 400, 400]),
    ("titles", "POST", "/post", r#"{"title": "x", "ownerId": T}"#, [400, 400, 400]),
    ("titles", "PUT", "/post/1", r#"{"ownerId": T}"#, [400, 400, 400]),
    ("titles", "PUT", "/post/1/owner", r#"{"entityId": T}"#, [400, 400, 400]),
    ("titles", "DELETE", "/post/T", "", [400, 400, 400]),
    ("titles", "DELETE", "/user/T/posts/1", "", [400, 400, 400]),
    ("titles", "POST", "/post/1/labels", r#"{"entityId": T}"#, [204, 404, 404]),
    ("titles", "UPLOAD", "/post", r#"{"title": "x"}"#, [400, 400, 400]),
    // A role that may write the link and sees none of its targets.
    ("blind", "POST", "/post", r#"{"title": "x", "ownerId": T}"#, [404, 404, 404]),
    ("blind", "PUT", "/post/1", r#"{"ownerId": T}"#, [404, 404, 404]),
    ("blind", "PUT", "/post/1/owner", r#"{"entityId": T}"#, [400, 400, 400]),
    ("blind", "POST", "/user/T/posts", r#"{"title": "x"}"#, [400, 400, 400]),
    ("blind", "PUT", "/key/1", r#"{"secretId": T}"#, [404, 404, 404]),
    ("blind", "UPLOAD", "/post/1/image", r#"{"ownerId": T}"#, [404, 404, 404]),
    // A role whose records are its own: only the session's value is accepted.
    ("self", "POST", "/post", r#"{"title": "x", "ownerId": T}"#, [403, 403, 403]),
    ("self", "POST", "/post", r#"{"title": "x", "ownerId": 7}"#, [201, 201, 201]),
    ("self", "PUT", "/post/6", r#"{"ownerId": T}"#, [403, 403, 403]),
    ("self", "PUT", "/post/1", r#"{"ownerId": T}"#, [404, 404, 404]),
    ("self", "PUT", "/post/6", r#"{"ownerId": 7}"#, [200, 200, 200]),
    ("self", "PUT", "/post/6", r#"{"ownerId": null}"#, [403, 403, 403]),
    // `$check` decides which value a record has to have, in place of `$where`.
    ("checked", "POST", "/post", r#"{"title": "x", "ownerId": T}"#, [403, 403, 403]),
    ("checked", "POST", "/post", r#"{"title": "x", "ownerId": 9}"#, [201, 201, 201]),
    ("checked", "PUT", "/post/2", r#"{"ownerId": T}"#, [403, 403, 403]),
    ("checked", "PUT", "/post/2", r#"{"ownerId": 9}"#, [200, 200, 200]),
    ("unchecked", "POST", "/post", r#"{"title": "x", "ownerId": T}"#, [404, 404, 404]),
    ("unchecked", "POST", "/post", r#"{"title": "x", "ownerId": 10}"#, [404, 404, 404]),
    ("unchecked", "POST", "/post", r#"{"title": "x"}"#, [201, 201, 201]),
    // A role that only updates.
    ("editor", "PUT", "/post/T", r#"{"title": "x"}"#, [200, 404, 404]),
    ("editor", "PUT", "/post/1", r#"{"ownerId": T}"#, [400, 400, 400]),
    ("editor", "POST", "/post", r#"{"title": "x"}"#, [400, 400, 400]),
    ("editor", "POST", "/user/T/posts", r#"{"title": "x"}"#, [400, 400, 400]),
    ("editor", "DELETE", "/post/T", "", [400, 400, 400]),
    ("editor", "DELETE", "/user/1/posts/T", "", [400, 400, 400]),
    ("editor", "UPLOAD", "/post/1/image", r#"{}"#, [400, 400, 400]),
    // A role without restrictions sees all targets, so the database decides.
    ("admin", "POST", "/post", r#"{"title": "x", "ownerId": T}"#, [201, 201, 409]),
    ("admin", "PUT", "/post/1", r#"{"ownerId": T}"#, [200, 200, 409]),
    ("admin", "PUT", "/post/1/owner", r#"{"entityId": T}"#, [200, 200, 404]),
    ("admin", "POST", "/user/T/posts", r#"{"title": "x"}"#, [201, 201, 404]),
    ("admin", "PUT", "/key/1", r#"{"secretId": T}"#, [200, 200, 409]),
];

#[test]
fn hidden_targets_are_missing_on_every_route() {
    for site in Site::both() {
        let mut role = "";
        let mut session = None;
        for (who, method, path, body, expected) in CASES {
            if *who != role {
                role = who;
                session = Some(site.login(who));
            }
            let session = session.as_ref().unwrap();
            // The visible target comes last, because its write succeeds.
            for (target, status) in TARGETS.iter().zip(expected).rev() {
                let [path, body] = [path, body].map(|text| text.replace('T', &target.to_string()));
                let (found, reply) = match *method {
                    "UPLOAD" => site.upload(session, &path, &body),
                    method => site.write(session, method, &path, &body),
                };
                let request = format!("{}: {who} {method} {path} {body}: {reply}", site.name);
                assert_eq!(found, *status, "{request}");
                if found == 404 {
                    assert_eq!(reply["error"], "NotFound", "{request}");
                    assert!(!reply.to_string().contains("'secret'"), "{request}");
                }
            }
        }
    }
}

/// The bodies of the two 404s differ in nothing but the id that the client sent.
#[test]
fn a_hidden_target_and_a_missing_one_get_equal_answers() {
    for site in Site::both() {
        let writer = site.login("writer");
        for (method, path, body) in [
            ("POST", "/post", r#"{"ownerId": T}"#),
            ("PUT", "/post/3", r#"{"ownerId": T}"#),
            ("PUT", "/post/3/owner", r#"{"entityId": T}"#),
            ("POST", "/post/3/labels", r#"{"entityId": T}"#),
            ("POST", "/user/T/posts", r#"{"title": "x"}"#),
        ] {
            let answer = |target: &str| {
                let [path, body] = [path, body].map(|text| text.replace('T', target));
                let (status, mut reply) = site.write(&writer, method, &path, &body);
                reply["requestId"] = Value::Null;
                (status, reply.to_string().replace(&format!("'{target}'"), "'T'"))
            };
            assert_eq!(answer("2"), answer("99"), "{}: {method} {path}", site.name);
        }
    }
}
