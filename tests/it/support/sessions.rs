//! Fixture of the tests of sessions: a database with accounts, and a client that signs its requests.

use std::time::UNIX_EPOCH;

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Request, Response, Server, encode};
use serde_json::{Value, json};

/// Accounts whose password is `correct horse`, hashed at low cost.
pub(crate) const PASSWORD: &str = "correct horse";
const ACCOUNTS: &str = "
CREATE TABLE accounts (
    id INTEGER PRIMARY KEY, email TEXT UNIQUE, password_hash TEXT, role TEXT, tenant TEXT, avatar TEXT
);
INSERT INTO accounts VALUES
    (1, 'ada@example.org',
     '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo',
     'admin', 'acme', NULL),
    (2, 'nopassword@example.org', NULL, NULL, NULL, NULL);
CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, banner TEXT);
INSERT INTO posts (id, title) VALUES (1, 'Rust at dawn'), (2, 'Slow bread'), (3, 'A map');
";

/// The settings of a deployment whose requests are signed.
pub(crate) struct Deployment {
    pub(crate) database: Database,
    pub(crate) config: String,
}

impl Deployment {
    /// Creates a deployment with signed requests and further settings.
    pub(crate) fn new(more: &str) -> Self {
        Self::with("", more)
    }

    /// Creates a deployment with further settings of `[integrity]`.
    pub(crate) fn with(integrity: &str, more: &str) -> Self {
        let database = Database::new(ACCOUNTS);
        let config = database.dir.write(
            "mesh.toml",
            &format!(
                "database = \"{}\"\n{more}\n[integrity]\nenabled = true\n\
                 secret = \"the secret of these tests, 32 bytes or more\"\n{integrity}\n\
                 [integrity.users]\ntable = \"accounts\"\ntenant = \"tenant\"\n",
                database.url()
            ),
        );
        Self { database, config }
    }

    /// Starts a server of the deployment.
    pub(crate) fn start(&self) -> Server {
        Server::start(&["--config", &self.config])
    }
}

/// The result of a login.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) token: String,
    pub(crate) signing_token: String,
}

impl Session {
    pub(crate) fn begin(server: &Server) -> Self {
        let reply = login(server, "ada@example.org", PASSWORD);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let body = reply.json();
        let text = |name: &str| body[name].as_str().expect("a text").to_owned();
        assert!(body["expiresAt"].is_u64(), "{body}");
        Self { token: text("token"), signing_token: text("signingToken") }
    }

    pub(crate) fn signature(&self, message: &str) -> String {
        encoding::signature(&self.signing_token, message)
    }

    /// Adds the token and the signature of a message.
    pub(crate) fn sign(&self, request: Request, message: &str) -> Request {
        request.header("X-Mesh-Token", &self.token).header("X-Mesh-Signature", self.signature(message))
    }

    /// Adds the token and a signature of a message that is bound to this request.
    pub(crate) fn bind(&self, request: Request, message: &str) -> Request {
        let (time, nonce) = (UNIX_EPOCH.elapsed().unwrap().as_secs(), encoding::random(22));
        let path = request.target.split('?').next().unwrap_or_default().to_owned();
        let message = format!("{message}\n{}\n{path}\njson\n{time}\n{nonce}", request.method);
        let request = request.header("X-Mesh-Timestamp", time.to_string()).header("X-Mesh-Nonce", nonce);
        self.sign(request, &message)
    }

    /// Builds a write, with a bound signature.
    pub(crate) fn write(&self, method: &str, path: &str, body: Option<&Value>) -> Request {
        let mut request = Request::new(method, &format!("/mesh{path}"));
        let mut message = String::new();
        if let Some(body) = body {
            message = format!("\n{}", encoding::sha256(body.to_string()));
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        self.bind(request, &message)
    }

    /// Builds a signed read by GET.
    pub(crate) fn get(&self, server: &Server, path: &str, query: &str) -> Response {
        server.send(&self.sign(Request::get(&server.path(path), query), &encode(query)))
    }

    /// Builds a signed POST of JSON.
    pub(crate) fn post(&self, server: &Server, path: &str, body: &Value) -> Response {
        let body = body.to_string();
        let message = format!("\n{}", encoding::sha256(body.as_bytes()));
        server.send(&self.sign(Request::post(&server.path(path), &body), &message))
    }

    pub(crate) fn logout(&self, server: &Server) -> Response {
        server.send(&Request::new("POST", &server.path("/logout")).header("X-Mesh-Token", &self.token))
    }
}

pub(crate) fn login(server: &Server, login: &str, password: &str) -> Response {
    let body = json!({"login": login, "password": password}).to_string();
    server.send(&Request::post(&server.path("/auth"), &body))
}

/// Returns status and code of an error, or its kind if it has no code.
pub(crate) fn why(reply: &Response) -> (u16, String) {
    let body = reply.json();
    let word = body.get("code").or_else(|| body.get("error")).and_then(Value::as_str);
    (reply.status, word.unwrap_or_default().to_owned())
}
