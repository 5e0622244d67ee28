//! Bearers of an issuer: its keys, the rules for tokens, and what their callers may do. `SPEC §17`

mod callers;
mod https;
mod issuers;
mod provider;

use std::sync::Arc;

use mesh_tests::{Database, Issuer, Request, Response, Server, TempDir};
use serde_json::Value;

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;
const DAWN: &str = r#"{"title":"Rust at dawn"}"#;

/// A server of the blog, with settings of `[bearer]`.
struct Site {
    server: Server,
    database: Database,
}

impl Site {
    fn start(bearer: &str) -> Self {
        Self::with(bearer, "", &[])
    }

    /// Starts a server with further settings before the section, and further arguments.
    fn with(bearer: &str, more: &str, arguments: &[&str]) -> Self {
        let database = Database::blog();
        let config = settings(&database.dir, bearer, more);
        let url = database.url();
        let server = Server::start(&[&["--database", &url, "--config", &config], arguments].concat());
        Self { server, database }
    }

    /// Starts a server with the keys of an issuer.
    fn of(issuer: &Issuer) -> Self {
        Self::start(&format!("jwks = '{}'", issuer.url()))
    }

    fn read(&self, token: &str) -> Response {
        self.server.send(&bearer(Request::get("/mesh/post/1", TITLE), token))
    }

    /// Asserts that a token is accepted.
    #[track_caller]
    fn accepts(&self, token: &str) {
        let reply = self.read(token);
        assert_eq!((reply.status, reply.text().as_str()), (200, DAWN));
    }

    /// Asserts that a token is refused with a code.
    #[track_caller]
    fn refuses(&self, token: &str, status: u16, code: &str) {
        assert_eq!(why(&self.read(token)), (status, code.to_owned()));
    }
}

fn settings(dir: &Arc<TempDir>, bearer: &str, more: &str) -> String {
    dir.write("mesh.toml", &format!("{more}\n[bearer]\n{bearer}\n"))
}

fn bearer(request: Request, token: &str) -> Request {
    request.header("Authorization", format!("Bearer {token}"))
}

/// Returns status and code, or the kind of an error without a code.
fn why(reply: &Response) -> (u16, String) {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let code = body.get("code").or_else(|| body.get("error")).and_then(Value::as_str);
    (reply.status, code.unwrap_or_default().to_owned())
}
