//! An OpenID Connect provider for one test: `oidc-provider` from npm, which runs in Node.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use mesh_conformance::http::{Connection, Request, Response};
use ring::digest;
use serde_json::Value;

use crate::node::node_tools;

/// The secret of the code challenge. It can be constant, because each test has a separate provider.
const VERIFIER: &str = "a-verifier-of-the-tests-with-more-than-43-characters";
/// Where the provider sends the code of a login without a browser. Nothing listens there.
const CALLBACK: &str = "http://127.0.0.1/callback";

/// A running provider, stopped when this value is dropped. Its clients and accounts are in `provider/provider.mjs`.
#[derive(Debug)]
pub struct Provider {
    process: Child,
    /// Kept open: the provider ends when it cannot print its warnings.
    _stdout: BufReader<ChildStdout>,
    address: SocketAddr,
    /// The issuer, as in `iss`.
    pub issuer: String,
}

impl Provider {
    /// Starts a provider. Returns `None` if the npm packages are not installed; fails the test instead if
    /// `MESH_REQUIRE_SERVICES` is set.
    #[must_use]
    pub fn start() -> Option<Self> {
        let tools = node_tools()?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/provider/provider.mjs");
        let mut process = Command::new("node")
            .arg(script)
            .arg(tools.canonicalize().expect("a folder"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("node runs");
        let mut issuer = String::new();
        let mut stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        stdout.read_line(&mut issuer).expect("the provider prints its issuer");
        let issuer = issuer.trim().to_owned();
        let address = issuer.strip_prefix("http://").and_then(|address| address.parse().ok());
        Some(Self {
            process,
            _stdout: stdout,
            address: address.expect("the address of the provider"),
            issuer,
        })
    }

    /// Returns the URL of the keys from the provider's discovery document.
    #[must_use]
    pub fn keys(&self) -> String {
        let description = self.send(&Request::new("GET", "/.well-known/openid-configuration"));
        description.json().get("jwks_uri").and_then(Value::as_str).expect("a URL of keys").to_owned()
    }

    /// Returns an access token of the service `reports`, by its client credentials, signed with an algorithm.
    #[must_use]
    pub fn service_token(&self, algorithm: &str) -> String {
        let basic = STANDARD.encode("reports:a secret of the reports");
        let form = format!(
            "grant_type=client_credentials&scope=read&resource=https%3A%2F%2Fapi.example%2F{algorithm}"
        );
        let request = form_request("/token", &form).header("Authorization", format!("Basic {basic}"));
        text(&self.send(&request), "access_token")
    }

    /// Returns the URL where a browser logs in, which leads to `redirect_uri` with a code: a URL on any port of 127.0.0.1
    /// with the path `/callback` or `/docs`.
    #[must_use]
    pub fn authorization_url(&self, redirect_uri: &str) -> String {
        format!("{}{}", self.issuer, authorization_path(redirect_uri))
    }

    /// Exchanges the code in the URL that the provider redirected to for tokens, and returns the reply.
    #[must_use]
    pub fn redeem(&self, url: &str) -> Value {
        let code = url.split(['?', '&']).find_map(|part| part.strip_prefix("code=")).expect("a code");
        let uri = percent_encode(url.split('?').next().unwrap_or_default());
        let form = format!(
            "grant_type=authorization_code&client_id=page&code={code}&code_verifier={VERIFIER}&redirect_uri={uri}"
        );
        let reply = self.send(&form_request("/token", &form));
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    }

    /// Logs an account in by the authorization code flow with PKCE, as a browser without scripts would. Returns the reply
    /// with the tokens.
    #[must_use]
    pub fn log_in(&self, account: &str) -> Value {
        let mut browser = FormBrowser { provider: self, cookies: BTreeMap::new() };
        let login = browser.follow(&authorization_path(CALLBACK));
        let login = browser.post(&login, &format!("prompt=login&login={account}&password=x"));
        let consent = browser.follow(&login);
        let granted = browser.post(&consent, "prompt=consent");
        self.redeem(&browser.follow(&granted))
    }

    /// Replaces the keys. The provider keeps neither the old ones nor its sessions.
    pub fn rotate_keys(&self) {
        assert_eq!(self.send(&Request::new("POST", "/rotate").body("")).status, 200);
    }

    fn send(&self, request: &Request) -> Response {
        // The provider builds its URLs from the `Host` of a request.
        let request = Request { hosts: Some(vec![self.address.to_string()]), ..request.clone() };
        Connection::connect(self.address).send(&request)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A browser without scripts, which submits forms, keeps cookies and follows redirections.
struct FormBrowser<'p> {
    provider: &'p Provider,
    cookies: BTreeMap<String, String>,
}

impl FormBrowser<'_> {
    /// Requests a page and returns the URL that it leads to.
    fn follow(&mut self, url: &str) -> String {
        self.send(Request::new("GET", self.path(url)))
    }

    /// Sends a form and returns the URL that it leads to.
    fn post(&mut self, url: &str, form: &str) -> String {
        self.send(form_request(self.path(url), form))
    }

    fn path<'u>(&self, url: &'u str) -> &'u str {
        url.strip_prefix(&self.provider.issuer).unwrap_or(url)
    }

    fn send(&mut self, request: Request) -> String {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let reply = self.provider.send(&request.header("Cookie", cookies.join("; ")));
        assert_eq!(reply.status, 303, "{}", reply.text());
        for (_, cookie) in reply.headers.iter().filter(|(name, _)| name == "set-cookie") {
            if let Some((name, value)) = cookie.split(';').next().and_then(|pair| pair.split_once('=')) {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        reply.header("location").expect("a redirection").to_owned()
    }
}

/// Returns the path of a request for a code.
fn authorization_path(redirect_uri: &str) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, VERIFIER.as_bytes()));
    format!(
        "/auth?client_id=page&response_type=code&scope=openid&redirect_uri={}\
         &code_challenge={challenge}&code_challenge_method=S256",
        percent_encode(redirect_uri)
    )
}

/// Escapes a URL as a value in another one.
fn percent_encode(url: &str) -> String {
    url.replace(':', "%3A").replace('/', "%2F")
}

fn form_request(path: &str, form: &str) -> Request {
    Request::new("POST", path).header("Content-Type", "application/x-www-form-urlencoded").body(form)
}

fn text(reply: &Response, name: &str) -> String {
    let found = reply.json().get(name).and_then(Value::as_str).map(str::to_owned);
    found.unwrap_or_else(|| panic!("no {name}: {}", reply.text()))
}
