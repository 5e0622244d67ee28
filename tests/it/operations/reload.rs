//! Schema reloads lose no request, and faulty schemas are refused.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mesh_tests::{Cluster, Database, Request, Server, command, wait_for, wait_until};
use serde_json::json;

use crate::events::stream::Stream;
use crate::support::sessions::{Deployment, Session, login, why};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;
const LIKES: &str = r#"{"post":{"$select":{"likes":true}}}"#;
const POSTS: &str = r#"{"entities": {"post": {"fields": ["id", "title"]}}}"#;
const POSTS_WITH_LIKES: &str = r#"{"entities": {"post": {"fields": ["id", "title", "likes"]}}}"#;

/// A blog with a schema document, served with a log file.
struct Site {
    blog: Database,
    server: Server,
}

impl Site {
    fn start(schema: &str, more: &str) -> Self {
        Self::of(Database::blog(), schema, more)
    }

    fn of(blog: Database, schema: &str, more: &str) -> Self {
        let path = blog.dir.write("schema.json", schema);
        let config = format!("database = \"{}\"\nschema = \"{path}\"\n{more}", blog.url());
        let config = blog.dir.write("mesh.toml", &config);
        let log = fs::File::create(blog.dir.path().join("log")).unwrap();
        let mut command = command(&["serve", "--config", &config, "--listen", "127.0.0.1:0"]);
        let server = Server::spawn(command.stderr(Stdio::from(log)));
        Self { blog, server }
    }

    fn write(&self, schema: &str) {
        let _ = self.blog.dir.write("schema.json", schema);
    }

    fn log(&self) -> String {
        fs::read_to_string(self.blog.dir.path().join("log")).unwrap()
    }

    fn waits_for_log(&self, text: &str, times: usize) {
        wait_for(&format!("{times} times {text:?} in the log"), || {
            let log = self.log();
            if log.matches(text).count() >= times { Ok(()) } else { Err(log) }
        });
    }
}

/// Waits until a read is answered with this status.
fn until(server: &Server, query: &str, status: u16) {
    wait_for(&format!("the status {status}"), || {
        let reply = server.get("/post/1", query);
        if reply.status == status { Ok(()) } else { Err(reply.text()) }
    });
}

#[test]
fn reload_under_load_fails_no_request() {
    let site = Site::start(POSTS, "[state]\nstore = \"memory\"\n");
    let body = json!({"query": "{ post title }", "format": "ql"}).to_string();
    let id =
        site.server.send(&Request::post("/mesh/queries", &body)).json()["id"].as_str().unwrap().to_owned();
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for client in 0..4 {
            let (server, stop, answered, id) = (&site.server, &stop, &answered, &id);
            scope.spawn(move || {
                let mut connection = server.connect();
                while !stop.load(Ordering::Relaxed) {
                    let request = match client {
                        0 => Request::new("GET", "/mesh/post/1").header("X-Mesh-Query-Id", id),
                        1 => Request::post("/mesh", &json!({"query": TITLE, "id": 1}).to_string()),
                        _ => Request::get("/mesh/post/1", TITLE),
                    };
                    let reply = connection.send(&request);
                    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"title":"Rust at dawn"}"#));
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 1..=6 {
            let before = answered.load(Ordering::Relaxed);
            let (schema, status) = if round % 2 == 1 { (POSTS_WITH_LIKES, 200) } else { (POSTS, 400) };
            site.write(schema);
            until(&site.server, LIKES, status);
            wait_until("requests are answered", || answered.load(Ordering::Relaxed) > before);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn faulty_schema_keeps_the_old_one_in_use() {
    let site = Site::start(POSTS, "");
    let faulty = r#"{"entities": {"post": {"fields": ["id", "nosuch"]}, "ghost": {"fields": ["id"]}}}"#;
    site.write(faulty);
    site.waits_for_log("the old one stays in use", 2);
    let log = site.log();
    assert!(log.contains("nosuch") && log.contains("ghost"), "every fault is named:\n{log}");
    assert_eq!(site.server.get("/post/1", TITLE).text(), r#"{"title":"Rust at dawn"}"#);
    // The faults are logged once, not at every check of the file.
    thread::sleep(Duration::from_millis(1_200));
    assert_eq!(site.log().matches("the old one stays in use").count(), 2);
    site.server.signal("HUP");
    site.waits_for_log("the old one stays in use", 4);
    fs::remove_file(site.blog.dir.path().join("schema.json")).unwrap();
    site.waits_for_log("cannot read the schema", 1);
    assert_eq!(site.server.get("/post/1", TITLE).status, 200);
    site.write(POSTS_WITH_LIKES);
    until(&site.server, LIKES, 200);
}

/// The reload is retried without another change of the file and without a signal.
#[test]
fn reload_is_retried_until_the_database_is_available() {
    let blog = Database::blog();
    // In this journal mode a writer can lock out readers.
    blog.connect().execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    let site = Site::of(blog, POSTS, "request_timeout = \"1s\"\n[events]\nenabled = false\n");
    let other = site.blog.connect();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    site.write(POSTS_WITH_LIKES);
    site.waits_for_log("retrying in 500ms", 1);
    site.waits_for_log("retrying in 1s", 1);
    let ready = site.server.send(&Request::new("GET", "/readyz")).text();
    assert!(ready.contains("the database was unavailable"), "{ready}");
    other.execute_batch("COMMIT").unwrap();
    until(&site.server, LIKES, 200);
    site.waits_for_log("the new schema is in use (retry)", 1);
    let ready = site.server.send(&Request::new("GET", "/readyz")).text();
    assert!(ready.contains(r#""schema":{"status":"passed"}"#), "{ready}");
}

#[test]
fn sighup_infers_the_schema_again() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    blog.connect().execute_batch("ALTER TABLE posts ADD COLUMN mood TEXT DEFAULT 'calm'").unwrap();
    let mood = r#"{"post":{"$select":{"mood":true}}}"#;
    assert_eq!(server.get("/post/1", mood).status, 400);
    server.signal("HUP");
    until(&server, mood, 200);
    assert_eq!(server.get("/post/1", mood).text(), r#"{"mood":"calm"}"#);
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE posts (id integer PRIMARY KEY, title text); INSERT INTO posts VALUES (1, 'Dawn');",
    );
    let server = Server::start(&["--database", &cluster.url()]);
    assert_eq!(server.get("/post/1", TITLE).text(), r#"{"title":"Dawn"}"#);
    cluster.execute("ALTER TABLE posts ADD COLUMN mood text DEFAULT 'calm'");
    assert_eq!(server.get("/post/1", mood).status, 400);
    server.signal("HUP");
    until(&server, mood, 200);
    cluster.execute("ALTER TABLE posts RENAME COLUMN mood TO tone");
    server.signal("HUP");
    until(&server, mood, 400);
}

#[test]
fn reload_keeps_sessions_and_login_counts_and_streams_reconnect() {
    let deployment = Deployment::new("[limits]\nlogin_per_minute = 2");
    let server = deployment.start();
    let session = Session::begin(&server);
    for status in [401, 401, 429] {
        assert_eq!(login(&server, "nobody@example.org", "guess").status, status);
    }
    let gone = Session::begin(&server);
    assert_eq!(gone.logout(&server).status, 200);
    deployment
        .database
        .connect()
        .execute_batch("ALTER TABLE posts ADD COLUMN mood TEXT DEFAULT 'calm'")
        .unwrap();
    let mood = r#"{"post":{"$select":{"mood":true}}}"#;
    let title = session.sign(Request::get("/mesh/post/1/events", TITLE), &mesh_tests::encode(TITLE));
    let mut stream = Stream::try_open(server.address, &title).expect("a stream");
    assert_eq!(stream.data(), r#"{"title":"Rust at dawn"}"#);
    server.signal("HUP");
    // The stream of the old schema ends, and its client reconnects.
    stream.assert_ends();
    assert!(stream.retry().is_some());
    wait_until("the new schema is in use", || session.get(&server, "/post/1", mood).status == 200);
    assert_eq!(why(&gone.get(&server, "/post/1", TITLE)), (401, "TOKEN_REVOKED".to_owned()));
    assert_eq!(login(&server, "nobody@example.org", "guess").status, 429);
    let mut stream = Stream::try_open(server.address, &title).expect("a stream");
    assert_eq!(stream.data(), r#"{"title":"Rust at dawn"}"#);
    deployment
        .database
        .connect()
        .execute_batch("UPDATE posts SET title = 'Rust at noon' WHERE id = 1")
        .unwrap();
    assert_eq!(stream.data(), r#"{"title":"Rust at noon"}"#, "the new stream receives changes");
}

#[test]
fn reload_of_a_thousand_entities_is_quick() {
    let schema = |more: &str| {
        let entities: Vec<String> = (0..999)
            .map(|number| {
                format!(
                    r#""post{number}": {{"table": "posts", "fields": ["id", "title", "likes", "score"]}}"#
                )
            })
            .collect();
        format!(r#"{{"entities": {{"post": {{"fields": ["id", "title"{more}]}}, {}}}}}"#, entities.join(", "))
    };
    let site = Site::start(&schema(""), "");
    site.write(&schema(r#", "likes""#));
    until(&site.server, LIKES, 200);
    site.waits_for_log("the new schema is in use", 1);
    let log = site.log();
    let line = log.lines().find(|line| line.contains("the new schema is in use")).unwrap();
    assert!(line.contains("entities=1000"), "{line}");
    eprintln!("{line}");
}

/// What is counted does not begin again with a new schema.
#[test]
fn a_reload_keeps_the_counts_of_limits() {
    let schema = r#"{"entities": {"post": {"fields": ["id", "title"], "writable": true}}}"#;
    let site = Site::start(
        schema,
        "mutations.enabled = true\n[limits]\nrequests = 1\nlogin_per_minute = 1\n\
         [bearer]\nsecret = \"the secret of these tests, 32 bytes or more\"\nanonymous = \"anyone\"\n",
    );
    let bad =
        Request::get("/mesh/post/1", TITLE).header("Authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.AAAA");
    let write = || {
        let request = Request::new("PUT", "/mesh/post/1").header("Content-Type", "application/json");
        request.body(json!({"title": "x"}).to_string())
    };
    let lock = site.blog.connect();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut waiting = site.server.connect();
    waiting.write(&write().bytes());
    let metrics = || site.server.send(&Request::new("GET", "/metrics")).text();
    wait_until("a write waits", || metrics().contains("\nmesh_requests_waiting 1\n"));
    // Sixty invalid credentials for each failed login.
    for _ in 0..60 {
        assert_eq!(site.server.send(&bad).status, 401);
    }
    for reload in 0..3 {
        assert_eq!(site.server.send(&write()).status, 503, "after {reload} reloads");
        // One more is allowed in each second.
        let mut more = (0..20).map(|_| site.server.send(&bad).status);
        assert!(more.any(|status| status == 429), "after {reload} reloads");
        site.server.signal("HUP");
        site.waits_for_log("the new schema is in use (SIGHUP)", reload + 1);
    }
    lock.execute_batch("COMMIT").unwrap();
    assert_eq!(waiting.read(false).expect("a reply").status, 200);
}
