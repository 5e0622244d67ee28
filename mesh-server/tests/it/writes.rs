//! Writes at the same time, and writes that end early: no reader sees a part of one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use mesh_server::App;
use mesh_server::mesh_plan::Mesh;
use mesh_server::mesh_schema::{FieldType, JoinDocument, Schema};
use mesh_server::mesh_wire::base64;
use mesh_sqlite::Database;
use rusqlite::Connection;
use serde_json::{Value, json};

const TABLES: &str = "
    PRAGMA journal_mode = DELETE;
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE profiles (id INTEGER PRIMARY KEY, bio TEXT, user_id INTEGER REFERENCES users (id));
    CREATE TABLE posts (
        id INTEGER PRIMARY KEY, title TEXT NOT NULL, author_id INTEGER NOT NULL REFERENCES users (id)
    );
    CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT);
    INSERT INTO users VALUES (1, 'u1'), (2, 'u2'), (3, 'u3');
    INSERT INTO profiles VALUES (1, 'p1', 1), (2, 'p2', NULL), (3, 'p3', NULL);
    INSERT INTO posts VALUES (1, 't1', 1), (2, 't2', 2);
    INSERT INTO tags VALUES (1, 'a'), (2, 'b'), (3, 'c');
";

fn schema() -> Schema {
    Schema::builder()
        .entity("user", |it| it.field("id", FieldType::Integer).field("name", FieldType::String).writable())
        .entity("profile", |it| it.field("id", FieldType::Integer).writable())
        .entity("post", |it| it.field("id", FieldType::Integer).field("title", FieldType::String).writable())
        .entity("tag", |it| it.field("id", FieldType::Integer))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .relation("user.profile", JoinDocument::one("profile", "profiles.user_id = users.id"))
        .relation("profile.user", JoinDocument::one("user", "users.id = profiles.user_id"))
        .build()
        .unwrap()
}

/// A database file, removed on drop.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-writes-{}-{}.db", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        Connection::open(&path).unwrap().execute_batch(TABLES).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}

fn app(path: &Path) -> App {
    app_with_limits(path, mesh_server::TransportLimits::default())
}

fn app_with_limits(path: &Path, limits: mesh_server::TransportLimits) -> App {
    let sqlite = Database::open(path).unwrap();
    let writer = sqlite.writer().unwrap();
    let mesh = Mesh::builder(schema()).default_resolver(sqlite).default_mutator(writer);
    let mut app = App::builder(mesh.build().unwrap());
    app.options.mutations = true;
    app.options.limits = limits;
    app.build().unwrap()
}

async fn send(app: &App, method: &str, path: &str, body: &str) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(format!("/mesh/{path}"));
    let request = request.header("Content-Type", "application/json");
    let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap();
    let reply = app.handle(request).await;
    let status = reply.status();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

async fn read(app: &App, path: &str, query: &str) -> Value {
    let request = Request::builder().uri(format!("/mesh/{path}")).header("X-Mesh-Format", "ql");
    let request = request.header("X-Mesh-Query", base64::encode(query));
    let reply = app.handle(request.body(Full::new(Bytes::new())).unwrap()).await;
    assert_eq!(reply.status(), 200);
    serde_json::from_slice(&reply.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap()
}

/// Two statements replace the profile of a user. A reader between them would find the user without a profile.
#[test]
fn readers_never_see_part_of_a_write() {
    runtime().block_on(async {
        let file = File::new();
        let app = app(&file.0);
        let (done, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (app, done, reads) = (app.clone(), Arc::clone(&done), Arc::clone(&reads));
                tokio::spawn(async move {
                    while !done.load(Ordering::Relaxed) {
                        let user = read(&app, "user/1", "{ user profile { id user { id } } }").await;
                        assert_eq!(user["profile"]["user"]["id"], 1, "{user}");
                        let all = read(&app, "profile", "{ profile user { id } }").await;
                        let owned = all["items"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .filter(|it| !it["user"].is_null())
                            .count();
                        assert_eq!(owned, 1, "{all}");
                        reads.fetch_add(1, Ordering::Relaxed);
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for round in 0..200 {
            let profile = json!({"entityId": round % 3 + 1}).to_string();
            assert_eq!(send(&app, "PUT", "user/1/profile", &profile).await.0, 200);
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.await.unwrap();
        }
        assert!(reads.load(Ordering::Relaxed) > 10);
    });
}

#[test]
fn concurrent_writes_are_all_performed() {
    runtime().block_on(async {
        let file = File::new();
        let app = app(&file.0);
        let writers = (0..40).map(|number| {
            let app = app.clone();
            tokio::spawn(async move {
                let body = format!(r#"{{"title": "n{number}"}}"#);
                send(&app, "POST", "user/1/posts", &body).await.0
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            assert_eq!(writer.await.unwrap(), 201);
        }
        let posts = read(&app, "post", "{ post id }").await;
        assert_eq!(posts["items"].as_array().map(Vec::len), Some(42));
    });
}

/// While another process has locked the file, a write waits until its deadline, and reads succeed.
#[test]
fn a_write_waits_for_others_until_its_deadline() {
    runtime().block_on(async {
        let file = File::new();
        let limits = mesh_server::TransportLimits {
            request_timeout: std::time::Duration::from_millis(150),
            ..mesh_server::TransportLimits::default()
        };
        let app = app_with_limits(&file.0, limits);
        let other = Connection::open(&file.0).unwrap();
        other.execute_batch("BEGIN IMMEDIATE; UPDATE users SET name = 'busy' WHERE id = 1").unwrap();
        let rename = async || send(&app, "PUT", "user/2", r#"{"name": "u7"}"#).await.0;
        assert_eq!(rename().await, 503);
        assert_eq!(read(&app, "user/1", "{ user name }").await, json!({"name": "u1"}));
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(rename().await, 200);
        assert_eq!(read(&app, "user/1", "{ user name }").await, json!({"name": "busy"}));
    });
}

/// The second statement of the write fails.
#[test]
fn a_failed_write_is_rolled_back() {
    runtime().block_on(async {
        let file = File::new();
        let refusal = "CREATE TRIGGER refusal BEFORE UPDATE ON profiles WHEN NEW.id = 3 AND NEW.user_id = 1
            BEGIN SELECT RAISE(ABORT, 'the database says no'); END";
        Connection::open(&file.0).unwrap().execute_batch(refusal).unwrap();
        let app = app(&file.0);
        let (status, body) = send(&app, "PUT", "user/1/profile", r#"{"entityId": 3}"#).await;
        let message = "The write violates a rule of the database";
        assert_eq!((status.as_u16(), body["message"].as_str()), (409, Some(message)));
        let user = read(&app, "user/1", "{ user profile { id } }").await;
        assert_eq!(user, json!({"profile": {"id": 1}}), "user 1 still has profile 1");
    });
}

#[test]
fn a_write_that_exceeds_its_deadline_is_rolled_back() {
    runtime().block_on(async {
        let file = File::new();
        let slow = "CREATE TRIGGER slow AFTER UPDATE ON users BEGIN
            INSERT INTO tags SELECT NULL, 'x' FROM (
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT i FROM n
            );
        END";
        Connection::open(&file.0).unwrap().execute_batch(slow).unwrap();
        let limits = mesh_server::TransportLimits {
            request_timeout: std::time::Duration::from_millis(150),
            ..mesh_server::TransportLimits::default()
        };
        let app = app_with_limits(&file.0, limits);
        let (status, body) = send(&app, "PUT", "user/1", r#"{"name": "late"}"#).await;
        assert_eq!((status.as_u16(), body["code"].as_str()), (500, Some("TIMEOUT")));
        assert_eq!(read(&app, "user/1", "{ user name }").await, json!({"name": "u1"}));
        let tags = read(&app, "tag", "{ tag id }").await;
        assert_eq!(tags["items"].as_array().map(Vec::len), Some(3));
        let body = r#"{"title": "after"}"#;
        assert_eq!(send(&app, "POST", "user/1/posts", body).await.0, 201, "the connection still works");
    });
}
