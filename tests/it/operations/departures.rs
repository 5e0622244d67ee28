//! Clients that leave while their writes and logouts are under way: what is in effect is in the audit log, once.

use std::fs;
use std::path::PathBuf;

use mesh_tests::{
    Cluster, Connection, Database, Fault, FaultyProxy, MariaDb, Request, Server, TempDir, wait_until,
};
use serde_json::{Value, json};

use crate::support::sessions::Session;

const TABLES: &str = "
CREATE TABLE accounts (id INTEGER PRIMARY KEY, email VARCHAR(60) UNIQUE, password_hash TEXT, role TEXT);
INSERT INTO accounts VALUES (1, 'ada@example.org',
    '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo', 'admin');
CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
INSERT INTO posts VALUES (1, 'one'), (2, 'two');";

const SCHEMA: &str = r#"{"entities": {"post": {"fields": ["id", "title"], "writable": true}}}"#;

/// How many clients leave at random moments.
const RANDOM: usize = 80;

/// A database whose answers can be held back.
enum Engine {
    Sqlite(Database),
    Postgres(FaultyProxy, Cluster),
    MariaDb(FaultyProxy, MariaDb),
}

/// Keeps a database from answering until it is dropped.
enum Held<'e> {
    Lock(rusqlite::Connection),
    Proxy(&'e FaultyProxy),
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        match self {
            Self::Lock(connection) => connection.execute_batch("COMMIT").unwrap(),
            Self::Proxy(proxy) => proxy.set(Fault::None),
        }
    }
}

impl Engine {
    fn all() -> Vec<Self> {
        let mut all = vec![Self::Sqlite(Database::new(TABLES))];
        if let Some(cluster) = Cluster::start() {
            cluster.execute(TABLES);
            all.push(Self::Postgres(FaultyProxy::start(&cluster.socket()), cluster));
        }
        if let Some(mariadb) = MariaDb::start() {
            mariadb.execute(TABLES);
            all.push(Self::MariaDb(FaultyProxy::start(&mariadb.socket()), mariadb));
        }
        all
    }

    fn url(&self) -> String {
        match self {
            Self::Sqlite(database) => database.url(),
            Self::Postgres(proxy, _) => {
                format!("postgres://mesh@{}/postgres?sslmode=disable", proxy.address())
            }
            Self::MariaDb(proxy, _) => format!("mysql://root@{}/mesh", proxy.address()),
        }
    }

    /// Holds back the answers of the database to writes or, with `state`, to changes of the state.
    fn hold(&self, state: bool) -> Held<'_> {
        match self {
            Self::Sqlite(database) => {
                let file = database.file();
                let path = if state { mesh_state(&file) } else { file };
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                Held::Lock(connection)
            }
            Self::Postgres(proxy, _) | Self::MariaDb(proxy, _) => {
                proxy.set(Fault::HoldAnswers);
                Held::Proxy(proxy)
            }
        }
    }

    /// Returns the ids of the stored posts.
    fn ids(&self) -> Vec<i64> {
        let query = "SELECT id FROM posts ORDER BY id";
        let text = match self {
            Self::Sqlite(database) => {
                let connection = database.connect();
                let mut statement = connection.prepare(query).unwrap();
                return statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
            }
            Self::Postgres(_, cluster) => cluster.query(query),
            Self::MariaDb(_, mariadb) => mariadb.query(query),
        };
        text.expect("the ids").lines().map(|line| line.trim().parse().expect("an id")).collect()
    }
}

/// Returns the file of the state beside a database.
fn mesh_state(file: &std::path::Path) -> PathBuf {
    let found = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let is_state = |path: &PathBuf| path != file && path.to_string_lossy().ends_with("state");
    let mut found: Vec<_> = found.filter(is_state).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

struct Site<'e> {
    engine: &'e Engine,
    folder: TempDir,
    server: Server,
}

impl<'e> Site<'e> {
    /// Starts a server that keeps sessions and nonces in a store.
    fn start(engine: &'e Engine, store: &str) -> Self {
        let folder = TempDir::new();
        folder.write("schema.json", SCHEMA);
        let config = format!(
            "database = \"{}\"\nschema = \"schema.json\"\nrequest_timeout = \"60s\"\nmutations.enabled = true\n\
             [state]\nstore = \"{store}\"\n[audit]\nstore = \"file:audit.log\"\n[integrity]\nenabled = true\n\
             secret = \"the secret of these tests, 32 bytes or more\"\n[integrity.users]\ntable = \"accounts\"\n",
            engine.url()
        );
        let server = Server::start(&["--config", &folder.write("mesh.toml", &config)]);
        Self { engine, folder, server }
    }

    /// Returns the entries of the audit log.
    fn entries(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("audit.log")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn entries_of(&self, id: &str) -> Vec<Value> {
        self.entries().into_iter().filter(|entry| entry["requestId"] == id).collect()
    }

    /// Sends a request, and closes its connection while the database does not answer.
    fn send_and_leave(&self, admin: &mut Connection, request: Request, id: &str, state: bool) {
        let mut shows = |figure: &str| admin.send(&Request::new("GET", "/metrics")).text().contains(figure);
        let held = self.engine.hold(state);
        let mut connection = self.server.connect();
        connection.write(&request.header("X-Request-Id", id).bytes());
        wait_until("the request has arrived", || shows("\nmesh_connections_open 2\n"));
        if !state {
            wait_until("the write waits", || shows("\nmesh_requests_waiting 1\n"));
        }
        drop(connection);
        wait_until("the connection is closed", || shows("\nmesh_connections_open 1\n"));
        drop(held);
        wait_until(&format!("{id} is in the audit log"), || !self.entries_of(id).is_empty());
        let entries = self.entries_of(id);
        assert_eq!((entries.len(), &entries[0]["outcome"]), (1, &json!("ok")), "{id}: {entries:?}");
    }
}

/// A write of each kind: a name, method, path and body, and the id of the record that exists or is gone afterwards.
fn writes() -> Vec<(&'static str, &'static str, &'static str, Option<Value>, i64)> {
    let post = |id: i64| json!({"id": id, "title": "x"});
    vec![
        ("create", "POST", "/post", Some(post(11)), 11),
        ("list", "POST", "/post", Some(json!([post(12), post(13)])), 13),
        (
            "batch",
            "POST",
            "/batch",
            Some(json!({"steps": [{"method": "POST", "path": "/post", "body": post(14)}]})),
            14,
        ),
        ("upsert", "PUT", "/post/15", Some(json!({"title": "x"})), 15),
        ("update", "PUT", "/post/1", Some(json!({"title": "x"})), 1),
        ("delete", "DELETE", "/post/2", None, -2),
    ]
}

#[test]
fn what_a_departed_client_has_written_is_in_the_audit_log() {
    for engine in Engine::all() {
        let mut site = Site::start(&engine, "memory");
        let session = Session::begin(&site.server);
        let mut admin = site.server.connect();
        for (name, method, path, body, id) in writes() {
            let request = session.write(method, path, body.as_ref());
            let request = request.header("Prefer", "resolution=merge-duplicates");
            site.send_and_leave(&mut admin, request, name, false);
            assert_eq!(engine.ids().contains(&id.abs()), id > 0, "{name}");
        }
        for number in 0..RANDOM {
            let id = 1000 + number;
            let body = json!({"id": id, "title": "x"});
            let request = session.write("POST", "/post", Some(&body));
            let mut connection = site.server.connect();
            connection.write(&request.header("X-Request-Id", format!("{id}")).bytes());
            // The moments are spread over the time that a write takes.
            for _ in 0..number * 37 % 1_000 {
                std::thread::yield_now();
            }
        }
        // A connection that is accepted later: all those before it are served.
        assert_eq!(site.server.send(&Request::new("GET", "/healthz")).status, 200);
        site.server.signal("TERM");
        assert_eq!(site.server.wait().code(), Some(0));
        let written: Vec<i64> = engine.ids().into_iter().filter(|id| *id >= 1000).collect();
        let mut audited: Vec<i64> = site
            .entries()
            .iter()
            .filter(|entry| entry["outcome"] == "ok" && entry["event"] == "write")
            .filter_map(|entry| entry["requestId"].as_str()?.parse().ok())
            .collect();
        audited.sort_unstable();
        assert_eq!(audited, written);
        assert!(!written.is_empty());
    }
}

#[test]
fn a_logout_whose_client_has_left_is_in_effect_and_in_the_audit_log() {
    for engine in Engine::all() {
        let site = Site::start(&engine, "database");
        let session = Session::begin(&site.server);
        let read = json!({"query": "{ post title }", "format": "ql"});
        assert_eq!(session.post(&site.server, "", &read).status, 200);
        let logout = Request::new("POST", "/mesh/logout").header("X-Mesh-Token", &session.token);
        site.send_and_leave(&mut site.server.connect(), logout, "logout", true);
        assert_eq!(session.post(&site.server, "", &read).status, 401);
    }
}
