//! Routes of an application with policies. Requests are sent to it without sockets.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::extract::{Path, Request as AxumRequest, State};
use axum::routing::{get, post};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use mesh_server::mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_server::mesh_plan::{self, Change, Mesh, WriteRequest, WriteTarget};
use mesh_server::mesh_schema::{Entity, EntityBuilder, FieldType, JoinDocument, Schema};
use mesh_server::mesh_wire::{WireError, base64};
use mesh_server::{App, Call, Integrity};
use mesh_sqlite::Database;
use rusqlite::Connection;
use serde_json::{Value, json};
use tower_service::Service;

use crate::integrity::site::{Ask, Login, Names, Reply, gate};

const TABLES: &str = "
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, owner_id TEXT NOT NULL DEFAULT 'ada');
    CREATE TABLE cards (id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES posts (id), owner_id TEXT);
    INSERT INTO posts VALUES (1, 'of ada', 'ada'), (2, 'of bo', 'bo');
    INSERT INTO cards VALUES (1, NULL, 'ada'), (2, 1, 'bo');
";

/// Returns the access of a role: editors see their own posts, guests their own cards without the post.
fn policy(role: &str, entity: &Entity) -> Access {
    let own = || Condition::equal("ownerId", SessionValue::UserId);
    match (role, entity.key.as_str()) {
        ("editor", "post") => Access::all().when(own()),
        ("guest", "card") => Access::all().except(["postId"]).when(own()),
        ("guest", "post") => Access::all(),
        _ => Access::none(),
    }
}

struct Site {
    router: Router,
    file: PathBuf,
}

impl Drop for Site {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.file.display()));
        }
    }
}

impl Site {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("mesh-protected-{}-{number}.db", std::process::id()));
        let _ = std::fs::remove_file(&file);
        Connection::open(&file).unwrap().execute_batch(TABLES).unwrap();
        let owner = |it: EntityBuilder| {
            it.field("id", FieldType::Integer)
                .field("ownerId", FieldType::String)
                .column("ownerId", "owner_id")
                .writable()
        };
        let schema = Schema::builder()
            .entity("post", |it| owner(it).field("title", FieldType::String))
            .entity("card", |it| {
                owner(it).field("postId", FieldType::Integer).column("postId", "post_id").writable()
            })
            .relation("card.post", JoinDocument::one("post", "posts.id = cards.post_id"))
            .build()
            .unwrap();
        let sqlite = Database::open(&file).unwrap();
        let mesh = Mesh::builder(schema).default_mutator(sqlite.writer().unwrap()).default_resolver(sqlite);
        let mut app = App::builder(mesh.policy(policy).build().unwrap());
        app.options.mutations = true;
        app.options.authenticator.integrity = Some(Integrity::new(gate(), Names));
        let app = app.build().unwrap();
        let mesh = app.clone().into_service();
        let echo = async |State(app): State<App>, Path(name): Path<String>, request: AxumRequest| {
            app.answer(request, |call| echo(call, name)).await
        };
        let own = async |State(app): State<App>, Path(post): Path<i64>, request: AxumRequest| {
            app.answer(request, move |call| own_card(call, post)).await
        };
        let router = Router::new()
            .route("/mesh/echo/{name}", get(echo).post(echo).fallback_service(mesh.clone()))
            .route("/mesh/own/{post}", post(own))
            .fallback_service(mesh)
            .with_state(app);
        Self { router, file }
    }

    async fn send(&self, ask: Ask) -> Reply {
        let reply = Service::<Request<Full<Bytes>>>::call(&mut self.router.clone(), ask.into_request()).await;
        Reply::read(reply.unwrap()).await
    }

    async fn login(&self, name: &str) -> Login {
        let sent = json!({"login": name, "password": "pw"});
        self.send(Ask::post("/mesh/auth", &sent)).await.login()
    }

    fn cell(&self, sql: &str) -> Option<String> {
        let sql = format!("SELECT CAST(({sql}) AS TEXT)");
        Connection::open(&self.file).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap()
    }
}

/// Returns the parts of a call.
async fn echo(call: Call, name: String) -> Result<mesh_server::Reply, WireError> {
    call.notify(Change::entity("post"));
    let fields = call.fields()?;
    if fields.text("boom").is_some() {
        panic!("a handler of the application panics");
    }
    let user = call.principal().map(|principal| principal.user.clone());
    let shape = call.shape().map(|(_, text)| text.to_owned());
    let post = call.read(mesh_plan::Request::point(mesh_ql::Format::Ql, "{ post title }", "1")).await?;
    let post: Value = serde_json::from_slice(&post.bytes).unwrap();
    let names: Vec<_> = fields.iter().map(|(name, _)| name.to_owned()).collect();
    let reply = json!({
        "name": name, "user": user, "shape": shape, "post": post, "names": names,
        "session": call.caller.session().is_some()
    });
    Ok(mesh_server::Reply::json(reply.to_string()))
}

/// Creates a card on a post that the server sets.
async fn own_card(call: Call, post: i64) -> Result<mesh_server::Reply, WireError> {
    let (fields, set) = (call.fields()?, [("postId", post.into())]);
    let request = WriteRequest::new(WriteTarget::Create { entity: "card" });
    Ok(call.created(call.write(request.with_fields(&fields).with_server_values(&set)).await?))
}

#[tokio::test]
async fn handlers_receive_caller_parameters_and_shape() {
    let site = Site::new();
    let bo = site.login("bo").await;
    let reply = site.send(bo.bind_once(Ask::post("/mesh/echo/a%20b", &json!({"x": 1})), "json")).await;
    let expected =
        json!({"name": "a b", "user": "bo", "shape": null, "post": null, "names": ["x"], "session": true});
    assert_eq!((reply.status, reply.json()), (200, expected), "post 1 is hidden from bo");
    let shaped = Ask::post("/mesh/echo/z", &json!({"y": 2}));
    let shaped = shaped.header("X-Mesh-Query", base64::encode("{ post id }")).header("X-Mesh-Format", "ql");
    assert_eq!(site.send(bo.bind_once(shaped, "ql")).await.json()["shape"], "{ post id }");

    let reply = site.send(bo.sign(Ask::new("GET", "/mesh/echo/q"))).await;
    assert_eq!((reply.status, reply.json()["names"].as_array().map(Vec::len)), (200, Some(0)));
    assert!(reply.headers.contains_key("etag"));
    let reply = site.send(bo.sign(Ask::new("HEAD", "/mesh/echo/q"))).await;
    assert_eq!((reply.status, reply.text.as_str()), (200, ""));
    assert_ne!(reply.headers["content-length"], "0");
}

#[tokio::test]
async fn handlers_fail_like_routes_of_the_protocol() {
    let site = Site::new();
    let bo = site.login("bo").await;
    for (body, status, error) in [
        (json!({"boom": 1}), 500, "InternalError"),
        (json!([]), 400, "TransportError"),
        (json!({"x": "x".repeat(1024 * 1024)}), 413, "TransportError"),
    ] {
        let reply = site.send(bo.bind_once(Ask::post("/mesh/echo/x", &body), "json")).await;
        assert_eq!(reply.why(), (status, error.to_owned()));
    }
    // Mesh answers the methods that the application has not.
    let reply = site.send(Ask::new("PATCH", "/mesh/echo/x")).await;
    assert_eq!(reply.why(), (405, "MethodNotAllowed".to_owned()));
    assert_eq!(reply.headers["allow"], "GET, HEAD, PUT, DELETE, OPTIONS");
}

/// Neither hidden fields nor values that the server sets appear in errors.
#[tokio::test]
async fn hidden_names_are_not_revealed() {
    let site = Site::new();
    let guest = site.login("guest-1").await;
    let write = async |method, path: &str, body: Value| {
        let ask = Ask { method, ..Ask::post(&format!("/mesh/{path}"), &body) };
        let reply = site.send(guest.bind_once(ask, "json")).await;
        (reply.status, reply.json())
    };
    for (path, body, message) in [
        ("card/1/post", json!({"entityId": 1}), "The relation 'post' is not writable"),
        ("card/1", json!({"postId": 1}), "Field 'postId' not found on entity 'card'; did you mean 'post'?"),
    ] {
        let (status, reply) = write("PUT", path, body).await;
        assert_eq!((status, reply["message"].as_str()), (400, Some(message)));
    }
    let (status, reply) = write("POST", "card", json!({"ownerId": "guest-1", "postId": 7})).await;
    assert_eq!(status, 400, "{reply}");
    let (status, reply) = write("POST", "own/7", json!({"ownerId": "guest-1"})).await;
    assert_eq!((status, reply["error"].as_str()), (409, Some("ConflictError")), "{reply}");
    assert!(!reply.to_string().contains("postId"), "{reply}");
    let (status, reply) = write("POST", "own/1", json!({"ownerId": "guest-1"})).await;
    assert_eq!((status, reply), (201, json!({"id": 3, "ownerId": "guest-1"})));
    assert_eq!(site.cell("SELECT post_id FROM cards WHERE id = 3").as_deref(), Some("1"));
}
