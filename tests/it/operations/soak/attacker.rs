//! A client that attacks a server at a low rate. Each attack is a function in [`ATTACKS`].

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mesh_tests::kit::encoding;
use mesh_tests::{Request, connect_from, encode};
use serde_json::json;

use super::{Site, http2};
use crate::support::sessions::Session;

/// A function that attacks once, in less than some seconds.
type Attack = fn(&mut Attacker<'_>);

/// The attacks, in the order in which they are repeated.
const ATTACKS: [(&str, Attack); 14] = [
    ("patterns that take long to match", like_patterns),
    ("answers of many megabytes", huge_answers),
    ("answers that are not read", unread_answers),
    ("HTTP/2 streams without a window", closed_windows),
    ("HTTP/2 streams that are reset", resets),
    ("plans that no other request shares", distinct_plans),
    ("registrations of queries", registrations),
    ("event streams", event_streams),
    ("nonces", nonces),
    ("logins", logins),
    ("uploads that are refused early", refused_uploads),
    ("foreign and repeated hosts", hosts),
    ("queries of the playground", docs_execute),
    ("connections that send nothing more", idle_connections),
];

/// An address of this machine that honest clients do not use.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);
/// The pause between two attacks.
const PAUSE: Duration = Duration::from_millis(100);
/// How long an attack waits for a reply.
const WAIT: Duration = Duration::from_millis(500);
/// Connections that are left open.
const OPEN_CONNECTIONS_MAX: usize = 250;

const POST: &str = r#"{"post":{"$select":{"id":true}}}"#;
const PAPERS: &str = r#"{"paper":{"$select":{"id":true,"body":true},"$page":{"first":200}}}"#;
/// Selects one long text many times.
const PAGES: &str =
    r#"{"page":{"$select":{"id":true,"paper":{"$select":{"body":true}}},"$page":{"first":200}}}"#;

pub(crate) struct Attacker<'s> {
    site: &'s Site,
    random_state: u64,
    session: Option<Session>,
    open_connections: VecDeque<TcpStream>,
}

impl<'s> Attacker<'s> {
    pub(crate) fn new(site: &'s Site, seed: u64) -> Self {
        let session = site.is_signed.then(|| Session::begin(&site.server));
        Self { site, random_state: seed, session, open_connections: VecDeque::new() }
    }

    /// Attacks until `done`.
    pub(crate) fn run(mut self, done: &AtomicBool) {
        // The variable selects single attacks for measurements.
        let chosen = std::env::var("MESH_SOAK_ATTACKS").unwrap_or_default();
        let is_chosen = |name: &str| chosen.is_empty() || chosen.split(',').any(|part| name.contains(part));
        let mut rounds = 0;
        while !done.load(Ordering::Relaxed) {
            for (name, attack) in ATTACKS.into_iter().filter(|(name, _)| is_chosen(name)) {
                attack(&mut self);
                std::thread::sleep(PAUSE);
                if done.load(Ordering::Relaxed) {
                    eprintln!("soak: the attacker ends in round {rounds} with {name}");
                    return;
                }
            }
            rounds += 1;
        }
    }

    fn random(&mut self) -> u64 {
        self.random_state =
            self.random_state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random_state >> 16
    }

    /// Sends bytes over a new connection; `None` if the server does not accept them.
    fn send_bytes(&self, bytes: &[u8]) -> Option<TcpStream> {
        let mut socket = connect_from(ADDRESS, self.site.server.address).ok()?;
        socket.set_read_timeout(Some(WAIT)).ok()?;
        socket.set_write_timeout(Some(WAIT)).ok()?;
        socket.write_all(bytes).ok()?;
        Some(socket)
    }

    /// Leaves a connection open.
    fn leave_open(&mut self, socket: Option<TcpStream>) {
        self.open_connections.extend(socket);
        if self.open_connections.len() > OPEN_CONNECTIONS_MAX {
            self.open_connections.pop_front();
        }
    }

    /// Sends bytes and reads for a while.
    fn exchange(&self, bytes: &[u8]) {
        if let Some(mut socket) = self.send_bytes(bytes) {
            let mut discarded = [0; 64 * 1024];
            while socket.read(&mut discarded).is_ok_and(|length| length == discarded.len()) {}
        }
    }

    fn sign(&self, request: Request, message: &str) -> Request {
        match &self.session {
            Some(session) => session.sign(request, message),
            None => request,
        }
    }

    fn get(&self, path: &str, query: &str) -> Request {
        self.sign(Request::get(path, query), &encode(query))
    }

    fn post(&self, path: &str, body: &str) -> Request {
        self.sign(Request::post(path, body), &format!("\n{}", encoding::sha256(body)))
    }

    /// Returns the beginning of an HTTP/2 connection with `count` requests.
    fn http2(&self, window: u32, count: u32, path: &str, query: &str) -> Vec<u8> {
        let request = self.get(path, query);
        let heads = (0..count).flat_map(|number| http2::request(2 * number + 1, path, &request.headers));
        [http2::PREFACE, &http2::settings(window)].concat().into_iter().chain(heads).collect()
    }
}

fn like_patterns(attacker: &mut Attacker<'_>) {
    let pattern = format!("%{}x", "_".repeat(5_500));
    let condition = json!({"field": "body", "op": "ilike", "value": pattern});
    let query =
        json!({"paper": {"$select": {"id": true}, "$where": {"or": [condition, condition]}}}).to_string();
    let request = attacker.get("/mesh/paper", &query);
    let socket = attacker.send_bytes(&request.bytes());
    attacker.leave_open(socket);
}

fn huge_answers(attacker: &mut Attacker<'_>) {
    let (path, query) = [("/mesh/paper", PAPERS), ("/mesh/page", PAGES)][attacker.random() as usize % 2];
    attacker.exchange(&attacker.get(path, query).bytes());
}

fn unread_answers(attacker: &mut Attacker<'_>) {
    let socket = attacker.send_bytes(&attacker.get("/mesh/paper", PAPERS).bytes());
    attacker.leave_open(socket);
}

fn closed_windows(attacker: &mut Attacker<'_>) {
    let window = [0, 1, 65_535][attacker.random() as usize % 3];
    let socket = attacker.send_bytes(&attacker.http2(window, 20, "/mesh/paper", PAPERS));
    attacker.leave_open(socket);
}

fn resets(attacker: &mut Attacker<'_>) {
    let mut bytes = attacker.http2(65_535, 100, "/mesh/post", POST);
    for number in 0..100 {
        bytes.extend(http2::reset(2 * number + 1));
    }
    attacker.exchange(&bytes);
}

/// Returns a query that was not sent before, of some kilobytes.
fn new_query(attacker: &mut Attacker<'_>) -> String {
    let values: Vec<_> = (0..150).map(|_| format!("{:024x}", attacker.random())).collect();
    json!({"post": {"$select": {"id": true}, "$where": {"field": "title", "op": "in", "value": values}}})
        .to_string()
}

fn distinct_plans(attacker: &mut Attacker<'_>) {
    for _ in 0..5 {
        let query = new_query(attacker);
        attacker.exchange(&attacker.get("/mesh/post", &query).bytes());
    }
}

fn registrations(attacker: &mut Attacker<'_>) {
    for _ in 0..5 {
        let query = new_query(attacker);
        attacker.exchange(&attacker.post("/mesh/queries", &json!({"query": query}).to_string()).bytes());
        let id = format!("q_{}", &encoding::sha256(format!("json\0{query}"))[..32]);
        let run = Request::new("GET", "/mesh/post").header("X-Mesh-Query-Id", &id);
        attacker.exchange(&attacker.sign(run, &id).bytes());
    }
}

fn event_streams(attacker: &mut Attacker<'_>) {
    for _ in 0..10 {
        let spaces = " ".repeat(attacker.random() as usize % 50);
        let query = format!(r#"{{"paper":{{"$select":{{{spaces}"body":true}}}}}}"#);
        let id = attacker.random() % 100 + 1;
        let request = attacker.get(&format!("/mesh/paper/{id}/events"), &query);
        let socket = attacker.send_bytes(&request.bytes());
        attacker.leave_open(socket);
    }
}

fn nonces(attacker: &mut Attacker<'_>) {
    let Some(session) = attacker.session.clone() else { return };
    for _ in 0..50 {
        let request = session.bind(Request::get("/mesh/post", POST), &encode(POST));
        attacker.exchange(&request.header("Connection", "close").bytes());
    }
}

fn logins(attacker: &mut Attacker<'_>) {
    let unknown = format!("{:x}@example.org", attacker.random());
    for login in ["missing@example.org", "Missing@example.org", &unknown] {
        let body = json!({"login": login, "password": "a guess"}).to_string();
        attacker.exchange(&Request::post("/mesh/auth", &body).bytes());
    }
}

fn refused_uploads(attacker: &mut Attacker<'_>) {
    let statement = r#"{"post":{"image":{"upload":true}},"contentHash":"sha256:00"}"#;
    let request = Request::new("POST", "/mesh/post/1/image")
        .header("Content-Type", "multipart/form-data; boundary=b")
        .header("X-Mesh-Token", "tok_forged")
        .query(statement)
        .body(vec![b'x'; 500_000]);
    attacker.exchange(&request.bytes());
}

fn hosts(attacker: &mut Attacker<'_>) {
    for host in ["", "Host: a\r\nHost: b\r\n", "Host: attacker.example\r\n", "Host: \r\n"] {
        attacker.exchange(format!("GET /mesh/post HTTP/1.1\r\n{host}\r\n").as_bytes());
    }
    let body = json!({"query": POST}).to_string();
    let request = Request::post("/docs/execute", &body).header("Origin", "http://attacker.example");
    attacker.exchange(&request.bytes_for("attacker.example"));
}

fn docs_execute(attacker: &mut Attacker<'_>) {
    for query in [PAGES, PAPERS] {
        attacker.exchange(&Request::post("/docs/execute", &json!({"query": query}).to_string()).bytes());
    }
}

fn idle_connections(attacker: &mut Attacker<'_>) {
    for beginning in ["", "GET /mesh/post HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\n"] {
        let socket = attacker.send_bytes(beginning.as_bytes());
        attacker.leave_open(socket);
    }
}
