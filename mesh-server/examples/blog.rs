//! A blog with its own write routes: `cargo run -p mesh-server --example blog`.
//!
//! Reads are served by Mesh. The routes below, of axum, decide who may write what, and set the fields that clients must not
//! choose. The page at `/` shows posts as they change. Log in as `ada` (admin), `bo` or `cy` (authors) or `gil` (guest) with the password
//! `blog`.

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::middleware::{self, Next};
use axum::response::{Html, Response};
use axum::routing::{self, get, patch, post};
use mesh_server::mesh_integrity::{
    Authenticator, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, Secret,
};
use mesh_server::mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_server::mesh_plan::{self, Mesh, Value, WriteRequest, WriteTarget};
use mesh_server::mesh_schema::{Document, Entity};
use mesh_server::mesh_wire::{Code, ErrorKind, WireError};
use mesh_server::{App, Call, ClientAddress, Events, Integrity, Reply};
use mesh_sqlite::Database;
use tokio::net::TcpListener;

/// Login, user id and role of each account.
const ACCOUNTS: [(&str, &str, &str); 4] =
    [("ada", "1", "admin"), ("bo", "2", "author"), ("cy", "3", "author"), ("gil", "4", "guest")];

/// The page that shows posts as they change.
const PAGE: &str = include_str!("blog/page.html");

struct Accounts;

impl Authenticator for Accounts {
    fn authenticate<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(async move {
            let text =
                |field| sent.get(field).and_then(|it| it.as_str()).ok_or(LoginError::Missing { field });
            let (login, password) = (text("login")?, text("password")?);
            // A real application stores hashes, for example with `mesh_integrity::passwords`.
            let known = ACCOUNTS.iter().find(|(own, ..)| *own == login && password == "blog");
            let (_, user, role) = known.ok_or(LoginError::Wrong)?;
            Ok(Identity::new(*user).with_role(*role))
        })
    }
}

/// Unpublished posts are visible to their authors and to admins only, in every query.
fn policy(role: &str, entity: &Entity) -> Access {
    let published = Condition::equal("published", true);
    match (role, entity.key.as_str()) {
        ("admin", _) => Access::all(),
        ("author", "post") => {
            let own = Condition::equal("authorId", SessionValue::UserId);
            Access::all().when(Condition::Any(vec![published, own]))
        }
        (_, "post") => Access::all().when(published),
        _ => Access::all(),
    }
}

/// `POST {base}/post`: authors and admins write posts, each under their own name.
async fn create_post(call: Call) -> Result<Reply, WireError> {
    if role(&call) == "guest" {
        return Err(forbidden("Guests write comments; posts are for authors"));
    }
    let (fields, set) = (call.fields()?, [("authorId", user(&call)?)]);
    let request = WriteRequest::new(WriteTarget::Create { entity: "post" });
    let written = call.write(request.with_fields(&fields).with_server_values(&set)).await?;
    Ok(call.created(written))
}

/// `PATCH {base}/post/:id`
async fn change_post(call: Call, id: String) -> Result<Reply, WireError> {
    check_owner(&call, "post", &id, "authorId").await?;
    let fields = call.fields()?;
    let target = WriteTarget::Update { entity: "post", id: id.as_str().into() };
    Ok(call.write(WriteRequest::new(target).with_fields(&fields)).await?.into())
}

/// `POST {base}/comment`: users comment on posts that they can see.
async fn create_comment(call: Call) -> Result<Reply, WireError> {
    let fields = call.fields()?;
    let post: i64 = fields.read("postId").ok_or_else(|| WireError::validation("'postId' is missing"))?;
    let seen = read(&call, "post", &post.to_string(), "id").await?;
    if seen.is_null() {
        return Err(WireError::validation(format!("There is no post {post} to comment on")));
    }
    let set = [("userId", user(&call)?)];
    let request = WriteRequest::new(WriteTarget::Create { entity: "comment" });
    let written = call.write(request.with_fields(&fields).with_server_values(&set)).await?;
    Ok(call.created(written))
}

/// `DELETE {base}/post/:id` and `DELETE {base}/comment/:id`
async fn delete(call: Call, entity: &str, id: String, owner: &str) -> Result<Reply, WireError> {
    check_owner(&call, entity, &id, owner).await?;
    let target = WriteTarget::Delete { entity, id: id.as_str().into() };
    Ok(call.write(WriteRequest::new(target)).await?.into())
}

/// Refuses changes by others than the owner and admins.
async fn check_owner(call: &Call, entity: &str, id: &str, field: &str) -> Result<(), WireError> {
    let record = read(call, entity, id, field).await?;
    let principal = call.principal().map(|principal| principal.user.as_str());
    match record.get(field).map(ToString::to_string) {
        None => {
            Err(WireError::new(ErrorKind::NotFound, format!("There is no '{entity}' with the id '{id}'")))
        }
        Some(owner) if role(call) == "admin" || principal == Some(owner.as_str()) => Ok(()),
        Some(_) => Err(forbidden("Only its author and admins may do this")),
    }
}

/// Reads one field of one record as the caller.
async fn read(call: &Call, entity: &str, id: &str, field: &str) -> Result<serde_json::Value, WireError> {
    let query = format!("{{ {entity} {field} }}");
    let request = mesh_plan::Request::point(mesh_ql::Format::Ql, &query, id);
    let body = call.read(request).await?;
    serde_json::from_slice(&body.bytes).map_err(|_| WireError::internal())
}

fn role(call: &Call) -> &str {
    call.principal().and_then(|principal| principal.role.as_deref()).unwrap_or("guest")
}

/// Returns the user's id from the session.
fn user(call: &Call) -> Result<Value, WireError> {
    let id = call.principal().and_then(|principal| principal.user.parse::<i64>().ok());
    id.map(Value::from).ok_or_else(WireError::internal)
}

fn forbidden(message: &'static str) -> WireError {
    WireError::integrity(Code::Forbidden, message)
}

fn blog(file: &std::path::Path) -> Result<App, Box<dyn Error>> {
    rusqlite::Connection::open(file)?.execute_batch(include_str!("blog/seed.sql"))?;
    let sqlite = Database::open(file)?;
    let document = Document::parse(include_str!("blog/schema.json"))?;
    let schema = document.load(Some(&sqlite.contents(&[])?.catalog))?;
    let mesh = Mesh::builder(schema)
        .computed("user.name", ["first", "last"], |user| {
            format!("{} {}", user.text("first"), user.text("last")).trim_end().to_owned()
        })
        .policy(policy)
        .default_mutator(sqlite.writer()?)
        .default_resolver(sqlite)
        .build()?;
    // A deployment reads its secret from a file; `openssl rand -hex 32` creates one.
    let secret = Secret::new("only an example: anybody can read this one")?;
    let mut app = App::builder(mesh);
    app.options.authenticator.integrity = Some(Integrity::new(Gate::new(Keys::new(&secret)), Accounts));
    app.options.events = Some(Events::default());
    Ok(app.build()?)
}

/// The routes of the blog. Mesh answers the other paths, and the other methods of the same paths.
fn router(app: App) -> Router {
    let mesh = app.clone().into_service();
    let posts = async |State(app): State<App>, request: Request| app.answer(request, create_post).await;
    let comments = async |State(app): State<App>, request: Request| app.answer(request, create_comment).await;
    let changed = async |State(app): State<App>, Path(id): Path<String>, request: Request| {
        app.answer(request, |call| change_post(call, id)).await
    };
    let post_deleted = async |State(app): State<App>, Path(id): Path<String>, request: Request| {
        app.answer(request, |call| delete(call, "post", id, "authorId")).await
    };
    let comment_deleted = async |State(app): State<App>, Path(id): Path<String>, request: Request| {
        app.answer(request, |call| delete(call, "comment", id, "userId")).await
    };
    Router::new()
        .route("/", get(async || Html(PAGE)))
        .route("/mesh/post", post(posts).fallback_service(mesh.clone()))
        .route("/mesh/post/{id}", patch(changed).delete(post_deleted).fallback_service(mesh.clone()))
        .route("/mesh/comment", post(comments).fallback_service(mesh.clone()))
        .route("/mesh/comment/{id}", routing::delete(comment_deleted).fallback_service(mesh.clone()))
        .fallback_service(mesh)
        .with_state(app)
}

/// Passes the client's address on, for limits of failed logins.
async fn with_address(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(ClientAddress(peer.ip()));
    next.run(request).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("mesh-blog-{}.db", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let router = router(blog(&file)?).layer(middleware::from_fn(with_address));
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
