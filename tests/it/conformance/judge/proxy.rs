//! A proxy that injects one fault into the requests and responses of a server.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::{self, BaseUrl, Exchange, Request, Response};
use mesh_tests::{Connection, PATIENCE};
use serde_json::{Value, json};

use super::faults::Fault;

/// What servers have issued.
#[derive(Debug, Default, Clone)]
pub(crate) struct Known {
    cursors: Arc<Mutex<HashSet<String>>>,
    /// Tokens with their signing keys, the newest last.
    sessions: Arc<Mutex<Vec<(String, String)>>>,
    /// The sessions of proxies by authority, with their expiry in milliseconds.
    own: Arc<Mutex<HashMap<String, (Session, u128)>>>,
}

/// State that the proxy collects from requests and responses.
#[derive(Debug)]
pub(crate) struct ProxyState {
    known: Known,
    /// Requests that were recorded by faults.
    seen: Mutex<HashSet<String>>,
    upstream: BaseUrl,
}

/// A token with its signing key.
type Session = (String, String);

/// A proxy in front of one server, stopped when this value is dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Proxy {
    /// Listens on a free port and forwards everything to the server, modified by the fault.
    pub(crate) fn start(upstream: &BaseUrl, fault: Fault, known: Known) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(ProxyState::new(upstream.clone(), known));
        let (upstream, stopped) = (upstream.clone(), Arc::clone(&stop));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (state, upstream) = (Arc::clone(&state), upstream.clone());
                thread::spawn(move || handle_connection(stream, &upstream, &fault, &state));
            }
        });
        Self { address, stop }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener, which then checks the stop flag.
        let _ = TcpStream::connect(self.address);
    }
}

fn handle_connection(mut stream: TcpStream, upstream: &BaseUrl, fault: &Fault, state: &ProxyState) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let Some(mut request) = read_request(&stream) else { return };
    let original = request.clone();
    let response = match (fault.on_request)(&mut request, state) {
        Some(response) => response,
        None => {
            let Ok(exchange) = Exchange::begin(&upstream.authority, &request) else { return };
            if exchange.head.is_event_stream() {
                let mut response = exchange.head;
                (fault.on_response)(&original, &mut response, state);
                let _ = stream.write_all(&head(&response, None));
                return forward(exchange.connection, &mut stream);
            }
            let Ok(mut response) = exchange.finish() else { return };
            state.known.record(&request, &response);
            (fault.on_response)(&original, &mut response, state);
            response
        }
    };
    let bodiless = original.method == "HEAD" || response.status == 204 || response.status == 304;
    let length = (!bodiless).then_some(response.body.len());
    let _ = stream.write_all(&head(&response, length));
    if !bodiless {
        let _ = stream.write_all(&response.body);
    }
    let _ = stream.flush();
}

fn head(response: &Response, length: Option<usize>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Status\r\n", response.status);
    let chunked = response.header("transfer-encoding").is_some();
    for (name, value) in &response.headers {
        let is_framing = ["content-length", "transfer-encoding", "connection"].contains(&name.as_str());
        if !is_framing || (length.is_none() && name == "transfer-encoding") {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    if let Some(length) = length.filter(|_| !chunked || length.is_some()) {
        head.push_str(&format!("content-length: {length}\r\n"));
    }
    head.push_str("connection: close\r\n\r\n");
    head.into_bytes()
}

/// Forwards the body of an event stream until either side closes its connection.
fn forward(connection: Connection, to: &mut TcpStream) {
    let mut from = connection.into_stream();
    let _ = from.get_ref().set_read_timeout(None);
    let mut buffer = [0; 4096];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 || to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut request = Request::new(words.next()?, words.next()?);
    let mut length = None;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok(),
            "host" | "connection" => {}
            _ => request.add_header(name, value.trim()),
        }
    }
    if let Some(length) = length {
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        request.body = Some(body);
    }
    Some(request)
}

impl Known {
    /// Records the cursors and sessions of a response.
    pub(crate) fn record(&self, request: &Request, response: &Response) {
        let Ok(body) = serde_json::from_slice::<Value>(&response.body) else { return };
        let mut cursors = self.cursors.lock().unwrap();
        for name in ["startCursor", "endCursor"] {
            if let Some(cursor) = body["pageInfo"][name].as_str() {
                cursors.insert(cursor.to_owned());
            }
        }
        if request.target.ends_with("/auth")
            && let (Some(token), Some(key)) = (body["token"].as_str(), body["signingToken"].as_str())
        {
            self.sessions.lock().unwrap().push((token.to_owned(), key.to_owned()));
        }
    }
}

impl ProxyState {
    /// Creates the state of a proxy in front of a server.
    pub(crate) fn new(upstream: BaseUrl, known: Known) -> Self {
        Self { known, seen: Mutex::default(), upstream }
    }

    /// Returns whether the server issued the cursor.
    pub(crate) fn has_issued_cursor(&self, cursor: &str) -> bool {
        self.known.cursors.lock().unwrap().contains(cursor)
    }

    /// Returns the signing key of an issued token.
    pub(crate) fn signing_key(&self, token: &str) -> Option<String> {
        let sessions = self.known.sessions.lock().unwrap();
        sessions.iter().find(|(own, _)| own == token).map(|(_, key)| key.clone())
    }

    /// Returns the issued token that differs from the given one in few characters.
    pub(crate) fn issued_token_like(&self, token: &str) -> Option<String> {
        let sessions = self.known.sessions.lock().unwrap();
        let differ = |own: &str| own.bytes().zip(token.bytes()).filter(|(a, b)| a != b).count();
        let near = sessions.iter().find(|(own, _)| own.len() == token.len() && differ(own) <= 2);
        near.map(|(own, _)| own.clone())
    }

    /// Returns a token of the default account.
    pub(crate) fn token(&self) -> String {
        self.login().0
    }

    /// Records a text; returns whether it was recorded before.
    pub(crate) fn insert_seen(&self, what: &str) -> bool {
        !self.seen.lock().unwrap().insert(what.to_owned())
    }

    /// Signs a request if the server supports logins.
    pub(crate) fn sign_if_possible(&self, request: &mut Request) {
        if !self.login().0.is_empty() {
            self.sign(request);
        }
    }

    /// Signs a request correctly, with the session of its token if that is known and otherwise with a session of the
    /// proxy. The signatures of writes are bound, and those of uploads if they were.
    pub(crate) fn sign(&self, request: &mut Request) {
        let is_upload =
            request.header_value("Content-Type").is_some_and(|kind| kind.starts_with("multipart/"));
        let is_bound = request.header_value("X-Mesh-Timestamp").is_some();
        let binds = is_write(request) || (is_upload && is_bound);
        let own = request
            .header_value("X-Mesh-Token")
            .and_then(|token| Some((token.to_owned(), self.signing_key(token)?)));
        let (token, key) = own.unwrap_or_else(|| self.login());
        let is_gone = |name: &str| {
            ["x-mesh-token", "x-mesh-signature", "x-mesh-timestamp", "x-mesh-nonce"]
                .contains(&name.to_ascii_lowercase().as_str())
        };
        request.headers.retain(|(name, _)| !is_gone(name));
        let query = request.header_value("X-Mesh-Query").or_else(|| request.header_value("X-Mesh-Query-Id"));
        let query = query.unwrap_or_default().to_owned();
        let mut message = match &request.body {
            Some(body) if !is_upload => format!("{query}\n{}", encoding::sha256(body)),
            _ if request.target.contains("/files/") => {
                request.target.split_once("/files/").map(|(_, key)| key.to_owned()).unwrap_or_default()
            }
            _ => query,
        };
        if binds {
            let (time, nonce) = (UNIX_EPOCH.elapsed().unwrap_or_default().as_secs(), encoding::random(22));
            let path = request.target.split('?').next().unwrap_or_default();
            let has_query = request.header_value("X-Mesh-Query").is_some();
            let format = request.header_value("X-Mesh-Format").filter(|_| has_query).unwrap_or("json");
            message = format!("{message}\n{}\n{path}\n{format}\n{time}\n{nonce}", request.method);
            request.add_header("X-Mesh-Timestamp", time.to_string());
            request.add_header("X-Mesh-Nonce", nonce);
        }
        request.add_header("X-Mesh-Token", token);
        request.add_header("X-Mesh-Signature", encoding::signature(&key, &message));
    }

    /// Returns a session of the default account that lives for some time yet.
    fn login(&self) -> Session {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let own = self.known.own.lock().unwrap().get(&self.upstream.authority).cloned();
        if let Some((session, _)) = own.filter(|(_, end)| *end > now + PATIENCE.as_millis()) {
            return session;
        }
        let login = json!({"login": "ada@example.com", "password": "correct horse"});
        let request = Request::post(&format!("{}/auth", self.upstream.base), &login.to_string());
        let response = http::send(&self.upstream.authority, &request).unwrap();
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let session = (text("token"), text("signingToken"));
        // A server without logins is not asked again.
        let end = body["expiresAt"].as_u64().map_or(u128::MAX, u128::from);
        self.known.own.lock().unwrap().insert(self.upstream.authority.clone(), (session.clone(), end));
        session
    }
}

/// Returns whether a request is one of a write route.
pub(crate) fn is_write(request: &Request) -> bool {
    let is_json =
        request.header_value("Content-Type").is_some_and(|kind| kind.starts_with("application/json"));
    let path = request.target.split('?').next().unwrap_or_default();
    let posts_a_query = ["/mesh", "/mesh/", "/mesh/queries", "/mesh/auth", "/mesh/logout"].contains(&path);
    match request.method.as_str() {
        "DELETE" => true,
        "PUT" => is_json && request.body.is_some(),
        "POST" => is_json && path.starts_with("/mesh") && !posts_a_query,
        _ => false,
    }
}
