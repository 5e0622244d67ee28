//! Writes need signatures and respect policies. Requests are sent to an application without sockets.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::UNIX_EPOCH;

use axum::Router;
use axum::extract::{Path, Request as AxumRequest, State};
use axum::routing::{get, post};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use mesh_server::mesh_integrity::{
    Authenticator, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, Secret, SigningKey,
};
use mesh_server::mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_server::mesh_plan::{self, Change, Mesh, WriteRequest, WriteTarget};
use mesh_server::mesh_schema::{Entity, EntityBuilder, FieldType, JoinDocument, Schema, ThroughDocument};
use mesh_server::mesh_wire::{WireError, base64};
use mesh_server::{App, Call, Integrity, Reply};
use mesh_sqlite::Database;
use rusqlite::Connection;
use serde_json::{Value, json};
use tower_service::Service;

const TABLES: &str = "
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, owner_id TEXT NOT NULL DEFAULT 'ada');
    CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, post_id INTEGER REFERENCES posts (id), owner_id TEXT);
    CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT);
    CREATE TABLE post_tags (post_id INTEGER REFERENCES posts (id), tag_id INTEGER REFERENCES tags (id));
    CREATE TABLE cards (id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES posts (id), owner_id TEXT);
    INSERT INTO posts VALUES (1, 'of ada', 'ada'), (2, 'of bo', 'bo');
    INSERT INTO notes VALUES (1, 'one', 1, 'ada'), (2, 'two', 2, 'bo');
    INSERT INTO cards VALUES (1, NULL, 'ada'), (2, 1, 'bo');
    INSERT INTO tags VALUES (1, 'tag');
";

/// The password of all users is `pw`; Eve is an admin.
struct Names;

impl Authenticator for Names {
    fn authenticate<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(async move {
            let text = |field| sent.get(field).and_then(Value::as_str).ok_or(LoginError::Missing { field });
            match (text("login")?, text("password")?) {
                ("eve", "pw") => Ok(Identity::new("eve").with_role("admin")),
                ("guest-1", "pw") => Ok(Identity::new("guest-1").with_role("guest")),
                (name, "pw") => Ok(Identity::new(name).with_role("author")),
                _ => Err(LoginError::Wrong),
            }
        })
    }
}

/// Returns the access of a role: authors see their own records, and of posts they write only the title and the owner.
fn policy(role: &str, entity: &Entity) -> Access {
    let own = || Condition::equal("ownerId", SessionValue::UserId);
    match (role, entity.key.as_str()) {
        ("admin", _) => Access::all(),
        ("author", "post") => {
            Access::all().when(own()).creating(["title", "ownerId"]).updating(["title", "ownerId"])
        }
        ("author", "note" | "card") => Access::all().when(own()),
        ("author", "tag") => Access::all().read_only(),
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
            .entity("note", |it| owner(it).field("text", FieldType::String))
            .entity("card", |it| {
                owner(it).field("postId", FieldType::Integer).column("postId", "post_id").writable()
            })
            .entity("tag", |it| {
                it.field("id", FieldType::Integer).field("label", FieldType::String).writable()
            })
            .relation("post.notes", JoinDocument::many("note", "notes.post_id = posts.id"))
            .relation("post.card", JoinDocument::one("card", "cards.post_id = posts.id"))
            .relation("card.post", JoinDocument::one("post", "posts.id = cards.post_id"))
            .relation("note.post", JoinDocument::one("post", "posts.id = notes.post_id"))
            .relation(
                "post.tags",
                JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
            )
            .build()
            .unwrap();
        let sqlite = Database::open(&file).unwrap();
        let mesh = Mesh::builder(schema).default_mutator(sqlite.writer().unwrap()).default_resolver(sqlite);
        let keys = Keys::new(&Secret::new("a secret of the tests that is long enough").unwrap());
        let mut app = App::builder(mesh.policy(policy).build().unwrap());
        app.mutations = true;
        app.authenticator.integrity = Some(Integrity::new(Gate::new(keys), Names));
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

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
        body: &str,
    ) -> (u16, HeaderMap, Value) {
        let mut request = Request::builder().method(method).uri(format!("/mesh/{path}"));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        let reply = Service::<Request<Full<Bytes>>>::call(&mut self.router.clone(), request).await.unwrap();
        let (head, body) = reply.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), head.headers, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    async fn login(&self, name: &str) -> User<'_> {
        let body = json!({"login": name, "password": "pw"}).to_string();
        let (status, _, issued) = self.send("POST", "auth", &[json_type()], &body).await;
        assert_eq!(status, 200, "{issued}");
        let text = |key: &str| issued[key].as_str().unwrap().to_owned();
        User { site: self, token: text("token"), key: SigningKey::new(&text("signingToken")) }
    }

    fn cell(&self, sql: &str) -> Option<String> {
        let sql = format!("SELECT CAST(({sql}) AS TEXT)");
        Connection::open(&self.file).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap()
    }
}

fn json_type() -> (&'static str, String) {
    ("Content-Type", "application/json".to_owned())
}

/// Returns the parts of a call.
async fn echo(call: Call, name: String) -> Result<Reply, WireError> {
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
    Ok(Reply::json(reply.to_string()))
}

/// Creates a card on a post that the server sets.
async fn own_card(call: Call, post: i64) -> Result<Reply, WireError> {
    let (fields, set) = (call.fields()?, [("postId", post.into())]);
    let request = WriteRequest::new(WriteTarget::Create { entity: "card" });
    Ok(call.created(call.write(request.with_fields(&fields).with_server_values(&set)).await?))
}

struct User<'s> {
    site: &'s Site,
    token: String,
    key: SigningKey,
}

impl User<'_> {
    fn headers(&self, message: &str) -> Vec<(&'static str, String)> {
        vec![("X-Mesh-Token", self.token.clone()), ("X-Mesh-Signature", self.key.sign(message.as_bytes()))]
    }

    /// Returns the headers of a signature that is bound to one request.
    fn bound_headers(&self, message: &str, [method, path, format]: [&str; 3]) -> Vec<(&'static str, String)> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let time = UNIX_EPOCH.elapsed().unwrap().as_secs();
        let nonce = format!("a-nonce-of-these-tests-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut headers =
            self.headers(&format!("{message}\n{method}\n/mesh/{path}\n{format}\n{time}\n{nonce}"));
        headers.extend([("X-Mesh-Timestamp", time.to_string()), ("X-Mesh-Nonce", nonce)]);
        headers
    }

    /// Sends a request with `body`, with a bound signature over `signed`.
    async fn send_as(&self, method: &str, path: &str, query: &str, body: &str, signed: &str) -> (u16, Value) {
        let digest = ring::digest::digest(&ring::digest::SHA256, signed.as_bytes());
        let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let statement = if query.is_empty() { String::new() } else { base64::encode(query) };
        let format = if query.is_empty() { "json" } else { "ql" };
        let mut headers = self.bound_headers(&format!("{statement}\n{digest}"), [method, path, format]);
        headers.push(json_type());
        if !query.is_empty() {
            headers.push(("X-Mesh-Query", statement));
            headers.push(("X-Mesh-Format", "ql".to_owned()));
        }
        let (status, _, body) = self.site.send(method, path, &headers, body).await;
        (status, body)
    }

    async fn write(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let body = body.to_string();
        self.send_as(method, path, "", &body, &body).await
    }

    /// Sends a request without a body and returns the status.
    async fn bare(&self, method: &str, path: &str) -> u16 {
        self.site.send(method, path, &self.bound_headers("", [method, path, "json"]), "").await.0
    }
}

#[tokio::test]
async fn writes_are_signed_over_header_and_body() {
    let site = Site::new();
    let ada = site.login("ada").await;
    let body = r#"{"title":"new"}"#;
    let reply = ada.send_as("PUT", "post/1", "{ post title }", body, body).await;
    assert_eq!(reply, (200, json!({"title": "new"})));
    let other = r#"{"title":"forged"}"#;
    let code = |reply: (u16, Value)| (reply.0, reply.1["code"].as_str().map(str::to_owned));
    let invalid = (403, Some("SIGNATURE_INVALID".to_owned()));
    for (method, path) in
        [("PUT", "post/1"), ("POST", "post"), ("POST", "post/1/notes"), ("PUT", "note/1/post")]
    {
        assert_eq!(code(ada.send_as(method, path, "", other, body).await), invalid, "{method} {path}");
        let (status, _, reply) = site.send(method, path, &[json_type()], body).await;
        assert_eq!((status, reply["code"].as_str()), (401, Some("TOKEN_MISSING")), "{method} {path}");
        // Only routes of the application accept the body's base64 form in the header; here the header shapes the reply.
        let statement = base64::encode(body);
        let mut headers = ada.bound_headers(&statement, [method, path, "json"]);
        headers.extend([json_type(), ("X-Mesh-Query", statement)]);
        let (status, _, reply) = site.send(method, path, &headers, body).await;
        assert_eq!(code((status, reply)), invalid, "{method} {path}");
    }
    // A write whose body was removed on the way is not accepted as a read.
    assert_eq!(code(ada.send_as("PUT", "post/1", "{ post title }", "", body).await), invalid);
    // A captured read is not accepted as a write.
    let statement = base64::encode("{ post title }");
    let mut headers = ada.headers(&statement);
    headers.extend([("X-Mesh-Query", statement), ("X-Mesh-Format", "ql".to_owned())]);
    assert_eq!(site.send("PUT", "post/1", &headers, "").await.2, json!({"title": "new"}));
    headers.push(json_type());
    let (status, _, reply) = site.send("PUT", "post/1", &headers, other).await;
    let unbound = (401, Some("SIGNATURE_MISSING".to_owned()));
    assert_eq!(code((status, reply)), unbound);
    for path in ["post/1", "post/1/card", "post/1/notes/1"] {
        let (status, _, reply) = site.send("DELETE", path, &headers, "").await;
        assert_eq!(code((status, reply)), unbound, "{path}");
    }
    assert_eq!(site.cell("SELECT count(*) FROM posts JOIN notes ON post_id = 1").as_deref(), Some("2"));

    assert_eq!(
        ada.bare("DELETE", "note/1").await,
        204,
        "without a query and a body the signed message is empty"
    );
    let (status, _, reply) = site.send("DELETE", "post/1", &ada.headers(""), "").await;
    assert_eq!(code((status, reply)), unbound);
    let headers = ada.bound_headers("x", ["DELETE", "post/1", "json"]);
    let (status, _, reply) = site.send("DELETE", "post/1", &headers, "").await;
    assert_eq!(code((status, reply)), invalid);
    assert_eq!(site.cell("SELECT title FROM posts WHERE id = 1").as_deref(), Some("new"));
}

#[tokio::test]
async fn policies_hold_for_writes() {
    let site = Site::new();
    let (ada, eve) = (site.login("ada").await, site.login("eve").await);
    let not_found = |id: &str| json!(format!("There is no 'post' with the id '{id}'"));
    // Records of other owners are not found.
    let (status, reply) = ada.write("PUT", "post/2", json!({"title": "mine"})).await;
    assert_eq!((status, &reply["message"]), (404, &not_found("2")));
    assert_eq!(ada.bare("DELETE", "post/2").await, 404);
    assert_eq!(ada.write("POST", "post/2/notes", json!({"text": "x"})).await.0, 404);
    assert_eq!(ada.bare("DELETE", "post/2/notes/2").await, 404);
    assert_eq!(ada.bare("DELETE", "post/1/notes/2").await, 404);
    assert_eq!(ada.write("PUT", "note/1/post", json!({"entityId": 2})).await.0, 404);
    assert_eq!(ada.write("PUT", "note/2/post", json!({"entityId": 1})).await.0, 404);
    assert_eq!(ada.bare("DELETE", "note/2/post").await, 404);
    assert_eq!(ada.write("POST", "post/2/tags", json!({"entityId": 1})).await.0, 404);
    // A write cannot change the owner of a record.
    let (status, reply) = ada.write("PUT", "post/1", json!({"ownerId": "bo"})).await;
    assert_eq!((status, reply["code"].as_str()), (403, Some("FORBIDDEN")), "{reply}");
    assert_eq!(ada.write("POST", "post", json!({"title": "x", "ownerId": "bo"})).await.0, 403);
    assert_eq!(ada.write("POST", "post/1/notes", json!({"text": "x", "ownerId": "bo"})).await.0, 403);
    assert_eq!(site.cell("SELECT count(*) FROM posts").as_deref(), Some("2"));
    // Fields and entities that are read-only for a role.
    assert_eq!(ada.write("POST", "tag", json!({"label": "x"})).await.0, 400);
    assert_eq!(ada.bare("DELETE", "tag/1").await, 400);
    let (status, reply) = ada.write("POST", "post", json!({"title": "x", "ownerId": "ada"})).await;
    assert_eq!((status, reply["id"].as_i64()), (201, Some(3)));
    assert_eq!(ada.write("POST", "post/1/notes", json!({"text": "x", "ownerId": "ada"})).await.0, 201);
    assert_eq!(ada.write("POST", "post/1/tags", json!({"entityId": 1})).await.0, 204);

    // A link to a hidden record is not removed as a side effect.
    assert_eq!(ada.write("PUT", "post/1/card", json!({"entityId": 2})).await.0, 404);
    assert_eq!(ada.write("PUT", "post/1/card", json!({"entityId": 1})).await.0, 403);
    assert_eq!(ada.bare("DELETE", "post/1/card").await, 403);
    assert_eq!(
        site.cell("SELECT group_concat(id || '-' || coalesce(post_id, '')) FROM cards").as_deref(),
        Some("1-,2-1")
    );
    assert_eq!(eve.write("PUT", "post/1/card", json!({"entityId": 1})).await.0, 200);
    assert_eq!(ada.bare("DELETE", "post/1/card").await, 204);

    assert_eq!(eve.write("PUT", "post/2", json!({"title": "edited"})).await.0, 200);
    assert_eq!(eve.bare("DELETE", "note/2").await, 204);
    assert_eq!(site.cell("SELECT owner_id || title FROM posts WHERE id = 2").as_deref(), Some("boedited"));
}

#[tokio::test]
async fn handlers_receive_caller_parameters_and_shape() {
    let site = Site::new();
    let bo = site.login("bo").await;
    let (status, reply) = bo.write("POST", "echo/a%20b", json!({"x": 1})).await;
    assert_eq!(status, 200);
    let expected =
        json!({"name": "a b", "user": "bo", "shape": null, "post": null, "names": ["x"], "session": true});
    assert_eq!(reply, expected, "post 1 is hidden from bo");
    let body = r#"{"y":2}"#;
    let reply = bo.send_as("POST", "echo/z", "{ post id }", body, body).await.1;
    assert_eq!(reply["shape"], "{ post id }");

    let (status, headers, reply) = site.send("GET", "echo/q", &bo.headers(""), "").await;
    assert_eq!((status, reply["names"].as_array().map(Vec::len)), (200, Some(0)));
    assert!(headers.contains_key("etag"));
    let (status, headers, reply) = site.send("HEAD", "echo/q", &bo.headers(""), "").await;
    assert_eq!((status, reply), (200, Value::Null));
    assert_ne!(headers["content-length"], "0");
}

#[tokio::test]
async fn handlers_fail_like_routes_of_the_protocol() {
    let site = Site::new();
    let bo = site.login("bo").await;
    let (status, reply) = bo.write("POST", "echo/x", json!({"boom": 1})).await;
    assert_eq!((status, reply["error"].as_str()), (500, Some("InternalError")));
    let (status, reply) = bo.send_as("POST", "echo/x", "", "[]", "[]").await;
    assert_eq!((status, reply["error"].as_str()), (400, Some("TransportError")));
    let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(1024 * 1024));
    assert_eq!(bo.send_as("POST", "echo/x", "", &large, &large).await.0, 413);
    // Mesh answers the methods that the application has not.
    let (status, headers, reply) = site.send("PATCH", "echo/x", &[], "").await;
    assert_eq!((status, reply["error"].as_str()), (405, Some("MethodNotAllowed")));
    assert_eq!(headers["allow"], "GET, HEAD, PUT, DELETE, OPTIONS");
}

/// Neither hidden fields nor values that the server sets appear in errors.
#[tokio::test]
async fn hidden_names_are_not_revealed() {
    let site = Site::new();
    let guest = site.login("guest-1").await;
    let (status, reply) = guest.write("PUT", "card/1/post", json!({"entityId": 1})).await;
    assert_eq!((status, reply["message"].as_str()), (400, Some("The relation 'post' is not writable")));
    let (status, reply) = guest.write("PUT", "card/1", json!({"postId": 1})).await;
    assert_eq!(
        (status, reply["message"].as_str()),
        (400, Some("Field 'postId' not found on entity 'card'; did you mean 'post'?"))
    );
    let (status, reply) = guest.write("POST", "card", json!({"ownerId": "guest-1", "postId": 7})).await;
    assert_eq!(status, 400, "{reply}");
    let (status, reply) = guest.write("POST", "own/7", json!({"ownerId": "guest-1"})).await;
    assert_eq!((status, reply["error"].as_str()), (409, Some("ConflictError")), "{reply}");
    assert!(!reply.to_string().contains("postId"), "{reply}");
    let (status, reply) = guest.write("POST", "own/1", json!({"ownerId": "guest-1"})).await;
    assert_eq!((status, reply), (201, json!({"id": 3, "ownerId": "guest-1"})));
    assert_eq!(site.cell("SELECT post_id FROM cards WHERE id = 3").as_deref(), Some("1"));
}
