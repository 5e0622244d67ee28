//! A proxy that injects one fault into the requests and responses of a server.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::{self, BaseUrl, Exchange, Request, Response};
use mesh_tests::{Connection, PATIENCE};
use serde_json::{Value, json};

use super::document;
use super::faults::Fault;

/// The header with which the proxy marks a request whose body is incomplete. Such a request is not forwarded unless a fault
/// removes the mark.
pub(crate) const TRUNCATED_MARK: &str = "X-Judge-Broken";

/// How long the proxy waits for bytes that were announced.
const BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// Tags and sessions that servers have issued.
#[derive(Debug, Default, Clone)]
pub(crate) struct IssuedValues {
    tags: Arc<Mutex<HashSet<String>>>,
    /// Tokens with their signing keys, the newest last.
    sessions: Arc<Mutex<Vec<(String, String)>>>,
    /// The sessions of proxies by authority, with their expiry in milliseconds.
    proxy_sessions: Arc<Mutex<HashMap<String, (Session, u128)>>>,
}

/// State that the proxy collects from requests and responses.
#[derive(Debug)]
pub(crate) struct ProxyState {
    issued: IssuedValues,
    /// The requests so far.
    seen: Mutex<HashSet<String>>,
    upstream: BaseUrl,
    /// The settings of the server.
    pub(crate) settings: String,
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
    pub(crate) fn start(settings: &str, upstream: &BaseUrl, fault: Arc<Fault>, issued: IssuedValues) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(ProxyState::new(settings, upstream.clone(), issued));
        let (upstream, stopped) = (upstream.clone(), Arc::clone(&stop));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (state, upstream, fault) = (Arc::clone(&state), upstream.clone(), Arc::clone(&fault));
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
    replace_own_host(&mut request, &stream, upstream);
    let (original, document) = (request.clone(), document::of_request(&request, state));
    let response = match fault.on_request(&document, &mut request, state) {
        Some(response) => response,
        None if request.header_value(TRUNCATED_MARK).is_some() => return,
        None => {
            let Ok(exchange) = Exchange::begin(&upstream.authority, &request) else { return };
            if exchange.head.is_event_stream() {
                let mut response = exchange.head;
                fault.on_response(&document, &original, &mut response);
                let _ = stream.write_all(&head(&response, None));
                return forward_lines(exchange.connection, &mut stream, fault);
            }
            let Ok(mut response) = exchange.finish() else { return };
            state.issued.record(&request, &response);
            fault.on_response(&document, &original, &mut response);
            response
        }
    };
    let bodiless = original.method == "HEAD" || response.status == 204 || response.status == 304;
    let length = match bodiless {
        true => response.header("content-length").and_then(|length| length.parse().ok()),
        false => Some(response.body.len()),
    };
    let _ = stream.write_all(&head(&response, length));
    if !bodiless {
        let _ = stream.write_all(&response.body);
    }
    let _ = stream.flush();
}

fn head(response: &Response, length: Option<usize>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Status\r\n", response.status);
    for (name, value) in &response.headers {
        let is_framing = ["content-length", "transfer-encoding", "connection"].contains(&name.as_str());
        if !is_framing || (length.is_none() && name == "transfer-encoding") {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    if let Some(length) = length {
        head.push_str(&format!("content-length: {length}\r\n"));
    }
    head.push_str("connection: close\r\n\r\n");
    head.into_bytes()
}

/// Reads a body. If the client ends it too early, the request is marked as broken. If bytes do not arrive in time, the
/// request keeps its `Content-Length`, so the server waits for them, too.
fn read_body(reader: &mut BufReader<&TcpStream>, length: usize, request: &mut Request) -> Vec<u8> {
    let _ = reader.get_ref().set_read_timeout(Some(BODY_TIMEOUT));
    let mut body = Vec::new();
    let mut buffer = [0; 1 << 16];
    while body.len() < length {
        let most = buffer.len().min(length - body.len());
        match reader.read(&mut buffer[..most]) {
            Ok(0) => {
                request.add_header(TRUNCATED_MARK, "1");
                break;
            }
            Ok(count) => body.extend(&buffer[..count]),
            Err(_) => {
                request.add_header("Content-Length", length.to_string());
                break;
            }
        }
    }
    body
}

/// Reads a body in chunks, with their framing.
fn read_chunks(reader: &mut BufReader<&TcpStream>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while !body.ends_with(b"\r\n0\r\n\r\n") {
        reader.read_until(b'\n', &mut body).ok().filter(|count| *count > 0)?;
    }
    Some(body)
}

/// Forwards a chunked event stream line by line, each as a chunk.
fn forward_lines(connection: Connection, to: &mut TcpStream, fault: &Fault) {
    let mut from = connection.into_stream();
    let _ = from.get_ref().set_read_timeout(None);
    let (mut line, mut left) = (Vec::new(), 0);
    loop {
        if left == 0 {
            let mut size = String::new();
            while size.trim().is_empty() {
                if from.read_line(&mut size).unwrap_or_default() == 0 {
                    return;
                }
            }
            left = usize::from_str_radix(size.trim(), 16).unwrap_or_default();
            if left == 0 {
                let _ = to.write_all(b"0\r\n\r\n");
                return;
            }
        }
        let mut byte = [0];
        if from.read_exact(&mut byte).is_err() {
            return;
        }
        left -= 1;
        line.extend(byte);
        if byte == *b"\n" {
            let text = String::from_utf8_lossy(&std::mem::take(&mut line)).trim_end().to_owned();
            let Some(text) = fault.on_line(&text) else { continue };
            if to.write_all(format!("{:x}\r\n{text}\n\r\n", text.len() + 1).as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// Replaces the address of the proxy by the address of the server in the hosts of a request.
fn replace_own_host(request: &mut Request, stream: &TcpStream, upstream: &BaseUrl) {
    let own = stream.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let mut hosts = request.hosts.take().unwrap_or_default();
    for host in hosts.iter_mut().filter(|host| **host == own) {
        *host = upstream.authority.to_string();
    }
    request.hosts = Some(hosts).filter(|hosts| *hosts != [upstream.authority.to_string()]);
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut request = Request::new(words.next()?, words.next()?);
    let (mut length, mut hosts) = (None, Vec::new());
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
            "host" => hosts.push(value.trim().to_owned()),
            "connection" => {}
            _ => request.add_header(name, value.strip_prefix(' ').unwrap_or(value)),
        }
    }
    request.hosts = Some(hosts);
    if let Some(length) = length {
        request.body = Some(read_body(&mut reader, length, &mut request));
    } else if request.header_value("Transfer-Encoding").is_some() {
        request.body = Some(read_chunks(&mut reader)?);
    }
    Some(request)
}

impl IssuedValues {
    /// Records the tag and the session of a response.
    pub(crate) fn record(&self, request: &Request, response: &Response) {
        if let Some(tag) = response.header("etag") {
            self.tags.lock().unwrap().insert(tag.to_owned());
        }
        let Ok(body) = serde_json::from_slice::<Value>(&response.body) else { return };
        if request.target.ends_with("/auth")
            && let (Some(token), Some(key)) = (body["token"].as_str(), body["signingToken"].as_str())
        {
            self.sessions.lock().unwrap().push((token.to_owned(), key.to_owned()));
        }
    }
}

impl ProxyState {
    /// Creates the state of a proxy in front of a server.
    pub(crate) fn new(settings: &str, upstream: BaseUrl, issued: IssuedValues) -> Self {
        Self { issued, seen: Mutex::default(), upstream, settings: settings.to_owned() }
    }

    /// Returns what the server has issued: the token and the tag that resemble those of a request, and the first session.
    pub(crate) fn issued_like(&self, request: &Request) -> Value {
        let first = self.issued.sessions.lock().unwrap().first().cloned();
        let tag = request.header_value("If-None-Match").and_then(|tag| self.tag_like(tag));
        json!({
            "token": request.header_value("X-Mesh-Token").and_then(|token| self.issued_token_like(token)),
            "tag": tag,
            "first": first.map(|(token, key)| json!({"token": token, "signingToken": key})),
        })
    }

    /// Returns the tag of the server that begins like the given one.
    fn tag_like(&self, tag: &str) -> Option<String> {
        let begin = tag.get(..tag.len().checked_sub(2)?)?;
        self.issued.tags.lock().unwrap().iter().find(|own| own.starts_with(begin)).cloned()
    }

    /// Returns whether the same request was sent before, and records it.
    pub(crate) fn has_seen(&self, request: &Request) -> bool {
        let headers = ["X-Mesh-Query", "X-Mesh-Query-Id"].map(|name| request.header_value(name));
        let body = String::from_utf8_lossy(request.body.as_deref().unwrap_or_default());
        !self.seen.lock().unwrap().insert(format!("{} {} {headers:?} {body}", request.method, request.target))
    }

    /// Returns the signing key of an issued token.
    pub(crate) fn signing_key(&self, token: &str) -> Option<String> {
        let sessions = self.issued.sessions.lock().unwrap();
        sessions.iter().find(|(own, _)| own == token).map(|(_, key)| key.clone())
    }

    /// Returns the issued token that differs from the given one in few characters.
    fn issued_token_like(&self, token: &str) -> Option<String> {
        let sessions = self.issued.sessions.lock().unwrap();
        let differ = |own: &str| own.bytes().zip(token.bytes()).filter(|(a, b)| a != b).count();
        let near = sessions.iter().find(|(own, _)| own.len() == token.len() && differ(own) <= 2);
        near.map(|(own, _)| own.clone())
    }

    /// Signs a request correctly, with the session of its token if that is known and otherwise with a session of the
    /// proxy. The signatures of writes are bound, and those of uploads if they were. Nothing changes without logins.
    pub(crate) fn sign(&self, request: &mut Request) {
        let is_upload = document::has_media_type(request, "multipart/");
        let is_bound = request.header_value("X-Mesh-Timestamp").is_some();
        let binds = is_write(request) || (is_upload && is_bound);
        let own = request
            .header_value("X-Mesh-Token")
            .and_then(|token| Some((token.to_owned(), self.signing_key(token)?)));
        let (token, key) = own.unwrap_or_else(|| self.login());
        if token.is_empty() {
            return;
        }
        let gone = ["X-Mesh-Token", "X-Mesh-Signature", "X-Mesh-Timestamp", "X-Mesh-Nonce"];
        request.headers.retain(|(name, _)| gone.iter().all(|gone| !name.eq_ignore_ascii_case(gone)));
        let query = request.header_value("X-Mesh-Query").or_else(|| request.header_value("X-Mesh-Query-Id"));
        let query = query.unwrap_or_default().to_owned();
        let mut message = match &request.body {
            Some(body) if !is_upload => format!("{query}\n{}", encoding::sha256(body)),
            _ if request.target.contains("/files/") => {
                request.target.split_once("/files/").map(|(_, key)| key.to_owned()).unwrap_or_default()
            }
            _ => match request.header_value("X-Mesh-Params") {
                Some(params) => format!("{query}\n{params}"),
                None => query,
            },
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
        let own = self.issued.proxy_sessions.lock().unwrap().get(&*self.upstream.authority).cloned();
        if let Some((session, _)) = own.filter(|(_, end)| *end > now + PATIENCE.as_millis()) {
            return session;
        }
        let login = json!({"login": "ada@example.com", "password": "correct horse"});
        let request = Request::post(&format!("{}/auth", self.upstream.base), &login.to_string());
        let response = http::send(&self.upstream.authority, &request).unwrap();
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let session = (text("token"), text("signingToken"));
        // A server without logins gets no second request.
        let end = body["expiresAt"].as_u64().map_or(u128::MAX, u128::from);
        let mut sessions = self.issued.proxy_sessions.lock().unwrap();
        sessions.insert(self.upstream.authority.to_string(), (session.clone(), end));
        session
    }
}

/// Returns whether a request goes to a write route.
pub(crate) fn is_write(request: &Request) -> bool {
    let is_json = document::has_media_type(request, "application/json");
    let path = request.target.split('?').next().unwrap_or_default();
    let posts_a_query = ["/mesh", "/mesh/", "/mesh/queries", "/mesh/auth", "/mesh/logout"].contains(&path);
    match request.method.as_str() {
        "DELETE" => true,
        "PUT" => is_json && request.body.is_some(),
        "POST" => is_json && path.starts_with("/mesh") && !posts_a_query,
        _ => false,
    }
}
