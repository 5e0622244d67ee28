//! The fixture of these tests: an application with two posts, and a client that signs requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use mesh_server::mesh_integrity::{
    Authenticator, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, MemoryRevocations,
    RevocationStore, Secret, SigningKey,
};
use mesh_server::mesh_plan::{Mesh, memory::Tables};
use mesh_server::mesh_schema::{FieldType, Schema, Upload};
use mesh_server::mesh_wire::base64;
use mesh_server::{App, AppBuilder, ClientAddress, Integrity};
use serde_json::Value;

pub(crate) const SECRET: &[u8] = b"the secret of the tests, thirty-two bytes and more";
pub(crate) const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

/// All users are editors of acme, except guests, and their password is `pw`.
pub(crate) struct Names;

impl Authenticator for Names {
    fn authenticate<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(async move {
            let text = |field| sent.get(field).and_then(Value::as_str).ok_or(LoginError::Missing { field });
            match (text("login")?, text("password")?) {
                ("broken", _) => Err(LoginError::new("the directory does not answer")),
                (name, "pw") => {
                    let role = if name.starts_with("guest") { "guest" } else { "editor" };
                    Ok(Identity::new(name).with_role(role).with_tenant("acme"))
                }
                _ => Err(LoginError::Wrong),
            }
        })
    }

    fn account<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Option<String>, LoginError>> {
        let login = sent.get("login").and_then(Value::as_str).map(str::to_owned);
        Box::pin(async { Ok(login) })
    }
}

const SCAN: Upload = Upload { max_bytes: None, content_types: None };

pub(crate) fn mesh() -> Arc<Mesh> {
    let schema = Schema::builder()
        .entity("post", |post| {
            post.field("id", FieldType::Integer).field("title", FieldType::String).writable()
        })
        .entity("tag", |tag| {
            tag.field("id", FieldType::Integer).field("scan", FieldType::String).upload("scan", SCAN)
        })
        .build()
        .unwrap();
    let rows = [vec![1.into(), "Hello".into()], vec![2.into(), "Goodbye".into()]];
    let tables = Tables::new().with("posts", ["id", "title"], rows);
    Arc::new(Mesh::builder(schema).default_resolver(tables).build().unwrap())
}

pub(crate) fn gate() -> Gate {
    Gate::new(Keys::new(&Secret::new(SECRET).unwrap()))
}

/// A server; several of them may share a store.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) app: App,
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Returns status and code, or the kind of an error without a code.
    pub(crate) fn why(&self) -> (u16, String) {
        let body = self.json();
        let code = body.get("code").or_else(|| body.get("error")).and_then(Value::as_str);
        (self.status, code.unwrap_or("none").to_owned())
    }
}

/// A request.
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self { method, path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(path: &str, query: &str) -> Self {
        Self::new("GET", path).header("X-Mesh-Query", base64::encode(query))
    }

    pub(crate) fn post(path: &str, body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        Self { body, ..Self::new("POST", path) }.header("Content-Type", "application/json")
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Replaces a header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(own, _)| *own != name);
        self.header(name, value)
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| *own != name);
        self
    }
}

/// The reply of a login.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) token: String,
    pub(crate) signing_token: String,
}

impl Login {
    pub(crate) fn signature(&self, message: &str) -> String {
        SigningKey::new(&self.signing_token).sign(message.as_bytes())
    }

    /// Returns the message that the signature of a request covers. `SPEC §7.4`
    pub(crate) fn message(ask: &Ask) -> String {
        let statement = ask.headers.iter().find(|(name, _)| name.starts_with("X-Mesh-Query"));
        let statement = statement.map(|(_, value)| value.clone()).unwrap_or_default();
        if ask.headers.iter().any(|(name, _)| *name == "Content-Type") {
            let digest = ring::digest::digest(&ring::digest::SHA256, &ask.body);
            let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            return format!("{statement}\n{hex}");
        }
        statement
    }

    pub(crate) fn sign(&self, ask: Ask) -> Ask {
        let signature = self.signature(&Self::message(&ask));
        ask.header("X-Mesh-Token", &self.token).header("X-Mesh-Signature", signature)
    }

    /// Signs a request with a signature that is bound to this use.
    pub(crate) fn bind_once(&self, ask: Ask, format: &str) -> Ask {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nonce = format!("a-nonce-of-these-tests-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.bind(ask, format, since_1970().as_secs(), &nonce)
    }

    /// Signs a request with a signature that is bound to one use.
    pub(crate) fn bind(&self, ask: Ask, format: &str, timestamp: u64, nonce: &str) -> Ask {
        let (method, path) = (ask.method, &ask.path);
        let message = format!("{}\n{method}\n{path}\n{format}\n{timestamp}\n{nonce}", Self::message(&ask));
        let signature = self.signature(&message);
        ask.header("X-Mesh-Token", &self.token)
            .header("X-Mesh-Signature", signature)
            .header("X-Mesh-Timestamp", timestamp.to_string())
            .header("X-Mesh-Nonce", nonce)
    }
}

impl Ask {
    pub(crate) fn into_request(self) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(self.method)
            .uri(&self.path)
            .extension(ClientAddress([192, 0, 2, 1].into()));
        for (name, value) in &self.headers {
            request = request.header(*name, value.as_str());
        }
        request.body(Full::new(Bytes::from(self.body))).unwrap()
    }
}

impl Reply {
    pub(crate) async fn read(reply: http::Response<impl hyper::body::Body>) -> Self {
        let (head, body) = reply.into_parts();
        let bytes = body.collect().await.unwrap_or_else(|_| panic!("the body broke off")).to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Self { status: head.status.as_u16(), headers: head.headers, text }
    }

    /// Returns the session of a login.
    pub(crate) fn login(&self) -> Login {
        assert_eq!(self.status, 200, "{}", self.text);
        let body = self.json();
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        Login { token: text("token"), signing_token: text("signingToken") }
    }
}

/// Starts an application that requires signatures.
pub(crate) fn signed_app(gate: Gate) -> AppBuilder {
    let mut app = App::builder(mesh());
    app.options.authenticator.integrity = Some(Integrity::new(gate, Names));
    app
}

impl From<AppBuilder> for Site {
    fn from(app: AppBuilder) -> Self {
        Self { app: app.build().unwrap() }
    }
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(gate())
    }

    pub(crate) fn with(gate: Gate) -> Self {
        Self::from(signed_app(gate))
    }

    /// Returns two servers of one deployment, which share revocations.
    pub(crate) fn pair() -> (Self, Self) {
        let store: Arc<dyn RevocationStore> = Arc::new(MemoryRevocations::default());
        let site = || Self::with(gate().revocations(Arc::clone(&store)));
        (site(), site())
    }

    pub(crate) async fn send(&self, ask: Ask) -> Reply {
        Reply::read(self.app.handle(ask.into_request()).await).await
    }

    pub(crate) async fn login(&self) -> Login {
        self.send(Ask::post("/mesh/auth", &credentials("pw"))).await.login()
    }
}

pub(crate) fn credentials(password: &str) -> Value {
    serde_json::json!({"login": "ada", "password": password})
}

pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}
