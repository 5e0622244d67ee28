//! An application as a service: nested in an axum router, as its fallback, and in hyper.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::{Extension, Router};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Frame};
use mesh_server::mesh_integrity::{
    Authenticator, Binding, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, Secret,
};
use mesh_server::mesh_plan::{Mesh, memory::Tables};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::mesh_wire::client::{self, Endpoint, Session};
use mesh_server::mesh_wire::{BasePath, QuerySource};
use mesh_server::{App, AppBuilder, ClientAddress, Fallback, Integrity, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

/// Accepts all credentials.
struct Open;

impl Authenticator for Open {
    fn authenticate<'a>(&'a self, _: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(async { Ok(Identity::new("1")) })
    }
}

fn app(base: &str) -> AppBuilder {
    let schema = Schema::builder().entity("post", |it| it.field("id", FieldType::Integer)).build().unwrap();
    let tables = Tables::new().with("posts", ["id"], [vec![1.into()]]);
    let mut app = App::builder(Mesh::builder(schema).default_resolver(tables).build().unwrap());
    app.options.base_path = BasePath::parse(base).unwrap();
    app
}

fn nested(prefix: &str, base: &str, mut app: AppBuilder) -> Router {
    app.options.base_path = BasePath::parse(base).unwrap();
    let mesh = app.build().unwrap().into_service();
    Router::new().nest_service(prefix, mesh.with_stripped_prefix(BasePath::parse(prefix).unwrap()))
}

async fn ask(router: &Router, request: Request<Bytes>) -> (StatusCode, String) {
    let mut router = router.clone();
    let reply = Service::<Request<Full<Bytes>>>::call(&mut router, request.map(Full::new)).await.unwrap();
    let status = reply.status();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn query() -> QuerySource {
    QuerySource::Text { format: mesh_ql::Format::Ql, text: "{ post id }".to_owned() }
}

fn read(path: &str) -> Request<Bytes> {
    let at = Endpoint::parse(&format!("http://localhost{path}")).unwrap();
    client::point(&at, "post", "1", &query()).unwrap()
}

#[tokio::test]
async fn reads_work_behind_any_router() {
    for (base, router) in [
        ("/mesh", Router::new().fallback_service(app("/mesh").build().unwrap().into_service())),
        ("", Router::new().fallback_service(app("/").build().unwrap().into_service())),
        ("/api/mesh", nested("/api/mesh", "/api/mesh", app("/"))),
        ("/api/mesh", nested("/api", "/api/mesh", app("/"))),
        (
            "/a/b",
            Router::new()
                .nest("/a", Router::new().nest_service("/b", app("/").build().unwrap().into_service())),
        ),
        ("/v1/mesh", Router::new().nest_service("/{version}", app("/mesh").build().unwrap().into_service())),
    ] {
        assert_eq!(ask(&router, read(base)).await, (StatusCode::OK, r#"{"id":1}"#.to_owned()), "{base}");
        let (status, body) = ask(&router, read(&format!("{base}/more/and/more/of/it"))).await;
        assert!(status == StatusCode::NOT_FOUND && body.contains(r#""error":"NotFound""#), "{base}: {body}");
    }
}

/// The application is given the other paths, with their bodies.
#[tokio::test]
async fn paths_outside_of_the_base_are_those_of_the_fallback() {
    let hello =
        Router::new().route("/hello", axum::routing::post(async |name: String| format!("hello {name}")));
    let mut mesh = app("/mesh");
    mesh.options.fallback = Some(Fallback::new(hello));
    let mesh = mesh.build().unwrap();
    let router = Router::new().fallback_service(mesh.into_service());
    let post = |path: &str| Request::post(path).body(Bytes::from_static(b"you")).unwrap();
    assert_eq!(ask(&router, post("/hello")).await, (StatusCode::OK, "hello you".to_owned()));
    assert_eq!(ask(&router, post("/meshes")).await, (StatusCode::NOT_FOUND, String::new()));
    assert_eq!(ask(&router, read("/mesh")).await, (StatusCode::OK, r#"{"id":1}"#.to_owned()));
    let (status, body) = ask(&router, post("/mesh/a/b/c/d/e")).await;
    assert!(status == StatusCode::NOT_FOUND && body.contains("NotFound"), "{body}");
}

/// Limits by address hold for an application behind the fallback, too.
#[tokio::test]
async fn a_fallback_is_told_the_address_of_the_client() {
    let who = axum::routing::get(async |Extension(ClientAddress(address))| address.to_string());
    let mut mesh = app("/mesh");
    mesh.options.fallback = Some(Fallback::new(Router::new().route("/who", who)));
    let mesh = mesh.build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let _server = tokio::spawn(Server::new(mesh).serve(listener, std::future::pending()));
    client.write_all(b"GET /who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200") && reply.ends_with("\r\n127.0.0.1"), "{reply}");
}

#[tokio::test]
async fn signatures_cover_the_path_that_was_sent() {
    let secret = Secret::new("a secret that only tests have, and long enough").unwrap();
    let gate = Gate::new(Keys::new(&secret)).binding(Binding::Require);
    let integrity = Integrity::new(gate, Open);
    let signed = || {
        let mut app = app("/");
        app.options.authenticator.integrity = Some(integrity.clone());
        app
    };
    let router = nested("/api/mesh", "/api/mesh", signed());
    let at = Endpoint::parse("http://localhost/api/mesh").unwrap();
    let (status, body) = ask(&router, client::login(&at, &serde_json::Map::new()).unwrap()).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let session = Session::from_login_reply(body.as_bytes()).unwrap();
    let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let sign =
        |nonce| session.sign(read("/api/mesh"), Some(client::SignatureBinding { timestamp, nonce })).unwrap();
    assert_eq!(ask(&router, sign("0123456789abcdef")).await, (StatusCode::OK, r#"{"id":1}"#.to_owned()));
    // If the stripped prefix is not configured, the service sees only the rest of the path.
    let untold = Router::new().nest_service("/api/mesh", signed().build().unwrap().into_service());
    assert_eq!(ask(&untold, sign("0123456789abcdeg")).await.0, StatusCode::FORBIDDEN);
}

/// A body of unknown length.
struct Pieces(Vec<&'static str>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
    }
}

#[tokio::test]
async fn any_body_type_is_accepted_and_the_service_is_always_ready() {
    let mut mesh = app("/mesh").build().unwrap().into_service();
    let ready =
        Service::<Request<Pieces>>::poll_ready(&mut mesh, &mut Context::from_waker(std::task::Waker::noop()));
    assert!(matches!(ready, Poll::Ready(Ok(()))));
    let request = Request::post("/mesh").header("content-type", "application/json");
    let pieces = Pieces(vec![r#""id": "1"}"#, r#"{"query": "{ post id }", "format": "ql", "#]);
    let reply: Response<_> = Service::call(&mut mesh, request.body(pieces).unwrap()).await.unwrap();
    assert_eq!((reply.status(), reply.body().size_hint().exact()), (StatusCode::OK, Some(8)));
    let hyper =
        hyper::service::Service::call(&mesh, Request::get("/mesh/post/1").body(Pieces(vec![])).unwrap());
    assert_eq!(hyper.await.unwrap().status(), StatusCode::BAD_REQUEST);
}
