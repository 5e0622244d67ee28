//! Clients that perform random actions.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mesh_tests::kit::encoding;
use mesh_tests::{Connection, Request, Response, encode};
use serde_json::{Value, json};

use super::Site;
use crate::support::sessions::{PASSWORD, Session};

/// The outcome of an action.
pub(crate) enum Outcome {
    /// As expected, or no response was awaited.
    Expected,
    /// A fault with its description.
    Fault(String),
}

/// Entities with queries.
const QUERIES: [(&str, &str); 6] = [
    ("post", r#"{"post":{"$select":{"id":true,"title":true}}}"#),
    (
        "post",
        r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true}},"tags":{"$select":{"label":true}}},"$page":{"first":20}}}"#,
    ),
    (
        "user",
        r#"{"user":{"$select":{"name":true,"posts":{"$select":{"title":true},"$page":{"first":3},"$orderBy":[{"field":"score","direction":"desc"}]}}}}"#,
    ),
    (
        "post",
        r#"{"post":{"$select":{"userId":true},"$groupBy":["userId"],"$aggregate":{"n":{"fn":"count"},"s":{"fn":"avg","field":"score"}}}}"#,
    ),
    (
        "post",
        r#"{"post":{"$select":{"id":true},"$where":{"or":[{"field":"title","op":"ilike","value":"%9%"},{"field":"score","op":"gt","value":60}]},"$page":{"first":200}}}"#,
    ),
    ("tag", r#"{"tag":{"$select":{"label":true}}}"#),
];
const POINT: &str = r#"{"post":{"$select":{"id":true,"title":true,"author":{"$select":{"name":true}}}}}"#;

pub(crate) struct Client<'s> {
    site: &'s Site,
    random_state: u64,
    connection: Connection,
    session: Option<Session>,
    /// Connections that send single bytes.
    slow: Vec<TcpStream>,
    /// The time until each reply.
    pub(crate) times: Vec<Duration>,
    /// Requests that the server refused with 503 because it was busy.
    pub(crate) refused: u64,
}

impl<'s> Client<'s> {
    pub(crate) fn new(site: &'s Site, seed: u64) -> Self {
        let session = site.is_signed.then(|| Session::begin(&site.server));
        Self {
            site,
            random_state: seed,
            connection: site.server.connect(),
            session,
            slow: Vec::new(),
            times: Vec::new(),
            refused: 0,
        }
    }

    fn random_below(&mut self, end: u64) -> u64 {
        self.random_state =
            self.random_state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random_state >> 33) % end
    }

    pub(crate) fn step(&mut self) -> Outcome {
        let refused = self.refused;
        let outcome = self.act();
        if self.refused > refused { Outcome::Expected } else { outcome }
    }

    fn act(&mut self) -> Outcome {
        match self.random_below(100) {
            0..25 => self.read(),
            25..40 => self.point(),
            40..47 => self.post(),
            47..53 => self.registered(),
            53..58 => self.write(),
            58..60 => self.create_and_delete(),
            60..62 => self.execute(),
            62..66 => self.upload(),
            66..70 => self.stream(),
            70..75 => self.other_routes(),
            75..88 => self.invalid_request(),
            88..94 => self.disconnect(),
            94..99 => self.send_slowly(),
            _ => self.renew_session(),
        }
    }

    /// Sends a request, signed if sessions are enabled, and checks the status.
    fn expect(&mut self, request: Request, message: &str, statuses: &[u16]) -> Outcome {
        let request = match &self.session {
            Some(session) => session.sign(request, message),
            None => request,
        };
        self.send(&request, statuses).map_or_else(Outcome::Fault, |_| Outcome::Expected)
    }

    fn send(&mut self, request: &Request, statuses: &[u16]) -> Result<Response, String> {
        let start = Instant::now();
        // The server may have closed the connection after a refused request.
        self.connection.write(&request.bytes());
        let is_head = request.bytes().starts_with(b"HEAD");
        let reply = match self.connection.read(is_head) {
            Some(reply) => reply,
            None => {
                self.connection = self.site.server.connect();
                self.connection.send(request)
            }
        };
        self.times.push(start.elapsed());
        if reply.status == 503 && reply.header("retry-after").is_some() {
            self.refused += 1;
        }
        let known = reply.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
        let readable = !known
            || is_head
            || reply.body.is_empty()
            || serde_json::from_slice::<Value>(&reply.body).is_ok();
        if statuses.contains(&reply.status) && readable {
            return Ok(reply);
        }
        let first = String::from_utf8_lossy(&request.bytes()).lines().next().unwrap_or_default().to_owned();
        Err(format!("{first}: {} in place of {statuses:?}: {:.300}", reply.status, reply.text()))
    }

    fn read(&mut self) -> Outcome {
        let (entity, query) = QUERIES[self.random_below(6) as usize];
        let request = Request::get(&format!("/mesh/{entity}"), query).header("Accept-Encoding", "identity");
        self.expect(request, &encode(query), &[200])
    }

    fn point(&mut self) -> Outcome {
        let id = self.random_below(60);
        let method = ["GET", "HEAD", "PUT"][self.random_below(3) as usize];
        let request = Request::new(method, &format!("/mesh/post/{id}")).query(POINT);
        self.expect(request, &encode(POINT), &[200])
    }

    fn post(&mut self) -> Outcome {
        let body = json!({"query": QUERIES[self.random_below(6) as usize].1}).to_string();
        self.json("POST", "/mesh", &body, &[200])
    }

    /// Sends a write, with a signature that is valid once.
    fn send_write(&mut self, request: Request, message: &str, statuses: &[u16]) -> Result<Response, String> {
        let request = match &self.session {
            Some(session) => session.bind(request, message),
            None => request,
        };
        self.send(&request, statuses)
    }

    fn write_json(&mut self, method: &str, path: &str, body: &str, statuses: &[u16]) -> Outcome {
        let request = Request::new(method, path).header("Content-Type", "application/json").body(body);
        let sent = self.send_write(request, &format!("\n{}", encoding::sha256(body)), statuses);
        sent.map_or_else(Outcome::Fault, |_| Outcome::Expected)
    }

    fn json(&mut self, method: &str, path: &str, body: &str, statuses: &[u16]) -> Outcome {
        let request = Request::new(method, path).header("Content-Type", "application/json").body(body);
        self.expect(request, &format!("\n{}", encoding::sha256(body)), statuses)
    }

    /// Registers a query and runs it by its id.
    fn registered(&mut self) -> Outcome {
        let (entity, query) = QUERIES[self.random_below(6) as usize];
        let body = json!({"query": query}).to_string();
        if let wrong @ Outcome::Fault(_) = self.json("POST", "/mesh/queries", &body, &[200]) {
            return wrong;
        }
        let id = format!("q_{}", &encoding::sha256(format!("json\0{query}"))[..32]);
        let request = Request::new("GET", &format!("/mesh/{entity}")).header("X-Mesh-Query-Id", &id);
        if let wrong @ Outcome::Fault(_) = self.expect(request, &id, &[200]) {
            return wrong;
        }
        // An id that was not registered is unknown.
        let request =
            Request::new("GET", &format!("/mesh/{entity}")).header("X-Mesh-Query-Id", "q_0123456789abcdef");
        self.expect(request, "q_0123456789abcdef", &[400])
    }

    fn write(&mut self) -> Outcome {
        let id = 100 + self.random_below(100);
        let title = format!("title {}", self.random_below(10));
        let body = json!({"title": title, "score": self.random_below(100)}).to_string();
        match self.random_below(5) {
            0 => self.write_json("PUT", &format!("/mesh/post/{id}"), &body, &[200]),
            1 => self.write_json("POST", &format!("/mesh/post/{id}/tags"), r#"{"entityId":1}"#, &[204]),
            2 => self.delete(&format!("/mesh/post/{id}/tags/2"), &[204, 404]),
            3 => self.write_json("PUT", &format!("/mesh/post/{id}/author"), r#"{"entityId":2}"#, &[200]),
            _ => self.write_json("PUT", "/mesh/post/99999", &body, &[404]),
        }
    }

    fn delete(&mut self, path: &str, statuses: &[u16]) -> Outcome {
        let sent = self.send_write(Request::new("DELETE", path), "", statuses);
        sent.map_or_else(Outcome::Fault, |_| Outcome::Expected)
    }

    /// Creates a record, alone or below its author, and deletes it.
    fn create_and_delete(&mut self) -> Outcome {
        let path = ["/mesh/post", "/mesh/user/3/posts"][self.random_below(2) as usize];
        let body = json!({"title": "created", "score": self.random_below(9)}).to_string();
        let request = Request::new("POST", path).header("Content-Type", "application/json").body(&body);
        let created = self.send_write(request, &format!("\n{}", encoding::sha256(&body)), &[201]);
        match created.map(|reply| reply.json()["id"].as_u64()) {
            Ok(Some(id)) => self.delete(&format!("/mesh/post/{id}"), &[204]),
            Ok(None) => Outcome::Fault("a created record without an id".to_owned()),
            Err(wrong) => Outcome::Fault(wrong),
        }
    }

    /// Runs a query in the playground.
    fn execute(&mut self) -> Outcome {
        let body = json!({"query": QUERIES[self.random_below(6) as usize].1}).to_string();
        let request = Request::post("/docs/execute", &body);
        self.send(&request, &[200]).map_or_else(Outcome::Fault, |_| Outcome::Expected)
    }

    fn upload(&mut self) -> Outcome {
        let content =
            format!("content {}", self.random_below(20)).repeat(100 + 200 * self.random_below(20) as usize);
        let hash = encoding::sha256(&content);
        let statement =
            json!({"post": {"image": {"upload": true}}, "contentHash": format!("sha256:{hash}")}).to_string();
        let sent = if self.random_below(4) == 0 { format!("{content}!") } else { content.clone() };
        let status = if sent == content { 200 } else { 403 };
        let body = format!("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n{sent}\r\n--b--\r\n");
        let request = Request::new("POST", &format!("/mesh/post/{}/image", self.random_below(50) + 1))
            .header("Content-Type", "multipart/form-data; boundary=b")
            .query(&statement)
            .body(body);
        let outcome = self.expect(request, &encode(&statement), &[status]);
        let key = format!("sha256/{}/{}", &hash[..2], &hash[2..]);
        let file = Request::new("GET", &format!("/mesh/files/{key}"));
        match (outcome, status) {
            (Outcome::Expected, 200) => self.expect(file, &key, &[200]),
            (outcome, _) => outcome,
        }
    }

    /// Opens a stream of events and disconnects.
    fn stream(&mut self) -> Outcome {
        let request = Request::get(&format!("/mesh/post/{}/events", 100 + self.random_below(100)), POINT);
        let request = match &self.session {
            Some(session) => session.sign(request, &encode(POINT)),
            None => request,
        };
        let mut socket = TcpStream::connect(self.site.server.address).expect("a connection");
        let _ = socket.write_all(&request.bytes());
        let mut first = [0; 12];
        let read = std::io::Read::read(&mut socket, &mut first);
        match read {
            Ok(length) if first[..length].starts_with(b"HTTP/1.1 200") => Outcome::Expected,
            Ok(_) if first == *b"HTTP/1.1 503" => {
                self.refused += 1;
                Outcome::Expected
            }
            other => Outcome::Fault(format!("a stream began with {other:?} {first:?}")),
        }
    }

    fn other_routes(&mut self) -> Outcome {
        let (method, path, statuses): (&str, &str, &[u16]) = match self.random_below(8) {
            0 => ("GET", "/docs", &[200]),
            1 => ("GET", "/docs/schema", &[200]),
            2 => ("OPTIONS", "/mesh/post/1", &[204, 200]),
            3 => ("GET", "/nowhere", &[404]),
            4 => ("GET", "/healthz", &[200]),
            5 => ("GET", "/readyz", &[200]),
            6 => ("GET", "/metrics", &[200]),
            _ => ("PATCH", "/mesh/post/1", &[405]),
        };
        let request = Request::new(method, path).header("Origin", "https://app.example");
        self.send(&request, statuses).map_or_else(Outcome::Fault, |_| Outcome::Expected)
    }

    /// Sends a request that is refused.
    fn invalid_request(&mut self) -> Outcome {
        let deep = format!(r#"{{"query":"{}"}}"#, "{".repeat(5_000));
        let request = match self.random_below(10) {
            0 => Request::new("GET", "/mesh/post"),
            1 => Request::new("GET", "/mesh/post").header("X-Mesh-Query", "not base64"),
            2 => Request::get("/mesh/post", r#"{"post":{"$select":{"secret":true}}}"#),
            3 => Request::get("/mesh/nosuch/1", r#"{"nosuch":{"$select":{"id":true}}}"#),
            4 => Request::post("/mesh", &deep),
            5 => Request::new("POST", "/mesh").header("Content-Type", "text/plain").body("x"),
            6 => Request::get("/mesh/post/%ff", POINT),
            7 => Request::get("/mesh/post", POINT)
                .header("X-Mesh-Token", "tok_forged")
                .header("X-Mesh-Signature", "sha256=00"),
            8 => Request::get("/mesh/post", POINT).header("X-Padding", "x".repeat(40_000)),
            _ => Request::new("DELETE", "/mesh"),
        };
        let statuses: &[u16] = &[400, 401, 403, 404, 405, 415, 431];
        // A forged token is ignored if sessions are disabled.
        let sent = self.send(&request, &[statuses, &[200]].concat());
        // The server may close the connection after an oversized request.
        if !matches!(sent, Ok(ref reply) if reply.status != 431) {
            self.connection = self.site.server.connect();
        }
        sent.map_or_else(Outcome::Fault, |_| Outcome::Expected)
    }

    /// Disconnects within a request or before its response.
    fn disconnect(&mut self) -> Outcome {
        let request = Request::post("/mesh", &json!({"query": QUERIES[1].1}).to_string()).bytes();
        let length = self.random_below(request.len() as u64 + 1) as usize;
        let mut socket = TcpStream::connect(self.site.server.address).expect("a connection");
        let _ = socket.write_all(&request[..length]);
        Outcome::Expected
    }

    /// Sends a byte on each slow connection and opens another one.
    fn send_slowly(&mut self) -> Outcome {
        for socket in &mut self.slow {
            let _ = socket.write_all(b"a");
        }
        if self.slow.len() > 8 {
            self.slow.clear();
        }
        let mut socket = TcpStream::connect(self.site.server.address).expect("a connection");
        let _ = socket.write_all(b"POST /mesh HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{");
        self.slow.push(socket);
        Outcome::Expected
    }

    /// Tries a wrong password, logs out and logs in again.
    fn renew_session(&mut self) -> Outcome {
        self.connection = self.site.server.connect();
        let Some(session) = self.session.take() else { return Outcome::Expected };
        let guess = json!({"login": "ada@example.org", "password": format!("{PASSWORD}?")}).to_string();
        let guessed = self.send(&Request::post("/mesh/auth", &guess), &[401]);
        let ended = session.logout(&self.site.server).status;
        self.refused += u64::from(ended == 503);
        self.session = Some(Session::begin(&self.site.server));
        match guessed {
            Ok(_) if matches!(ended, 200 | 204) => Outcome::Expected,
            Ok(_) => Outcome::Fault(format!("a logout was answered with {ended}")),
            Err(wrong) => Outcome::Fault(wrong),
        }
    }
}
