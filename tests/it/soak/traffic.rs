//! What does a client do next? Something of everything, by dice.

use std::io::Write as _;
use std::net::TcpStream;

use mesh_tests::kit::encoding;
use mesh_tests::{Connection, Request, Response, encode};
use serde_json::{Value, json};

use super::Site;
use crate::signed::{PASSWORD, Session};

/// How a step ended.
pub(crate) enum Outcome {
    /// As it should, or without an answer where none was waited for.
    Well,
    /// What was wrong.
    Wrong(String),
}

/// Queries with the entity that each is of.
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
    dice: u64,
    connection: Connection,
    session: Option<Session>,
    /// Connections on which it says next to nothing.
    slow: Vec<TcpStream>,
}

impl<'s> Client<'s> {
    pub(crate) fn new(site: &'s Site, seed: u64) -> Self {
        let session = site.is_signed.then(|| Session::begin(&site.server));
        Self { site, dice: seed, connection: site.server.connect(), session, slow: Vec::new() }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % end
    }

    pub(crate) fn step(&mut self) -> Outcome {
        match self.below(100) {
            0..25 => self.read(),
            25..40 => self.point(),
            40..48 => self.post(),
            48..54 => self.persisted(),
            54..62 => self.write(),
            62..66 => self.upload(),
            66..70 => self.stream(),
            70..75 => self.other_routes(),
            75..88 => self.nonsense(),
            88..94 => self.leave(),
            94..99 => self.dawdle(),
            _ => self.begin_anew(),
        }
    }

    /// Sends a request, signed where sessions are on, and compares the status.
    fn expect(&mut self, request: Request, message: &str, statuses: &[u16]) -> Outcome {
        let request = match &self.session {
            Some(session) => session.sign(request, message),
            None => request,
        };
        self.send(&request, statuses).map_or_else(Outcome::Wrong, |_| Outcome::Well)
    }

    fn send(&mut self, request: &Request, statuses: &[u16]) -> Result<Response, String> {
        // The server may have closed a connection that was refused something.
        self.connection.write(&request.bytes());
        let is_head = request.bytes().starts_with(b"HEAD");
        let reply = match self.connection.read(is_head) {
            Some(reply) => reply,
            None => {
                self.connection = self.site.server.connect();
                self.connection.send(request)
            }
        };
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
        let (entity, query) = QUERIES[self.below(6) as usize];
        let request = Request::get(&format!("/mesh/{entity}"), query).header("Accept-Encoding", "identity");
        self.expect(request, &encode(query), &[200])
    }

    fn point(&mut self) -> Outcome {
        let id = self.below(60);
        let method = ["GET", "HEAD", "PUT"][self.below(3) as usize];
        let request = Request::new(method, &format!("/mesh/post/{id}")).query(POINT);
        self.expect(request, &encode(POINT), &[200])
    }

    fn post(&mut self) -> Outcome {
        let body = json!({"query": QUERIES[self.below(6) as usize].1}).to_string();
        self.json("POST", "/mesh", &body, &[200])
    }

    fn json(&mut self, method: &str, path: &str, body: &str, statuses: &[u16]) -> Outcome {
        let request = Request::new(method, path).header("Content-Type", "application/json").body(body);
        self.expect(request, &format!("\n{}", encoding::sha256(body)), statuses)
    }

    fn persisted(&mut self) -> Outcome {
        let (entity, query) = QUERIES[self.below(6) as usize];
        let body = json!({"query": query}).to_string();
        if let wrong @ Outcome::Wrong(_) = self.json("POST", "/mesh/queries", &body, &[200, 201]) {
            return wrong;
        }
        // Ids are made of the query; one that nobody registered is unknown.
        let request =
            Request::new("GET", &format!("/mesh/{entity}")).header("X-Mesh-Query-Id", "q_0123456789abcdef");
        self.expect(request, "q_0123456789abcdef", &[400])
    }

    fn write(&mut self) -> Outcome {
        let id = 100 + self.below(100);
        let title = format!("title {}", self.below(10));
        let body = json!({"title": title, "score": self.below(100)}).to_string();
        match self.below(5) {
            0 => self.json("PUT", &format!("/mesh/post/{id}"), &body, &[200]),
            1 => self.json("POST", &format!("/mesh/post/{id}/tags"), r#"{"entityId":1}"#, &[204]),
            2 => self.expect(Request::new("DELETE", &format!("/mesh/post/{id}/tags/2")), "", &[204, 404]),
            3 => self.json("PUT", &format!("/mesh/post/{id}/author"), r#"{"entityId":2}"#, &[200]),
            _ => self.json("PUT", "/mesh/post/99999", &body, &[404]),
        }
    }

    fn upload(&mut self) -> Outcome {
        let content = format!("content {}", self.below(20)).repeat(100 + 200 * self.below(20) as usize);
        let hash = encoding::sha256(&content);
        let statement =
            json!({"post": {"image": {"upload": true}}, "contentHash": format!("sha256:{hash}")}).to_string();
        let sent = if self.below(4) == 0 { format!("{content}!") } else { content.clone() };
        let status = if sent == content { 200 } else { 403 };
        let body = format!("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n{sent}\r\n--b--\r\n");
        let request = Request::new("POST", &format!("/mesh/post/{}/image", self.below(50) + 1))
            .header("Content-Type", "multipart/form-data; boundary=b")
            .query(&statement)
            .body(body);
        let outcome = self.expect(request, &encode(&statement), &[status]);
        let key = format!("sha256/{}/{}", &hash[..2], &hash[2..]);
        let file = Request::new("GET", &format!("/mesh/files/{key}"));
        match (outcome, status) {
            (Outcome::Well, 200) => self.expect(file, &key, &[200]),
            (outcome, _) => outcome,
        }
    }

    /// Begins to listen, and goes without a word.
    fn stream(&mut self) -> Outcome {
        let request = Request::get(&format!("/mesh/post/{}/events", 100 + self.below(100)), POINT);
        let request = match &self.session {
            Some(session) => session.sign(request, &encode(POINT)),
            None => request,
        };
        let mut socket = TcpStream::connect(self.site.server.address).expect("a connection");
        let _ = socket.write_all(&request.bytes());
        let mut first = [0; 12];
        let read = std::io::Read::read(&mut socket, &mut first);
        match read {
            Ok(length) if first[..length].starts_with(b"HTTP/1.1 200") => Outcome::Well,
            other => Outcome::Wrong(format!("a stream began with {other:?} {first:?}")),
        }
    }

    fn other_routes(&mut self) -> Outcome {
        let (method, path, statuses): (&str, &str, &[u16]) = match self.below(8) {
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
        self.send(&request, statuses).map_or_else(Outcome::Wrong, |_| Outcome::Well)
    }

    /// Requests that are refused, each in its own way.
    fn nonsense(&mut self) -> Outcome {
        let deep = format!(r#"{{"query":"{}"}}"#, "{".repeat(5_000));
        let request = match self.below(10) {
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
        // A forged token is nobody's business where there are no sessions.
        let sent = self.send(&request, &[statuses, &[200]].concat());
        // What is too large may end the connection.
        if !matches!(sent, Ok(ref reply) if reply.status != 431) {
            self.connection = self.site.server.connect();
        }
        sent.map_or_else(Outcome::Wrong, |_| Outcome::Well)
    }

    /// Goes in the middle of a request, or before its answer.
    fn leave(&mut self) -> Outcome {
        let request = Request::post("/mesh", &json!({"query": QUERIES[1].1}).to_string()).bytes();
        let length = self.below(request.len() as u64 + 1) as usize;
        let mut socket = TcpStream::connect(self.site.server.address).expect("a connection");
        let _ = socket.write_all(&request[..length]);
        Outcome::Well
    }

    /// Sends a byte where it has begun to, and forgets about it in the end.
    fn dawdle(&mut self) -> Outcome {
        for socket in &mut self.slow {
            let _ = socket.write_all(b"a");
        }
        if self.slow.len() > 8 {
            self.slow.clear();
        }
        let mut socket = TcpStream::connect(self.site.server.address).expect("a connection");
        let _ = socket.write_all(b"POST /mesh HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{");
        self.slow.push(socket);
        Outcome::Well
    }

    /// Ends the session and begins another; guesses a password before.
    fn begin_anew(&mut self) -> Outcome {
        self.connection = self.site.server.connect();
        let Some(session) = self.session.take() else { return Outcome::Well };
        let guess = json!({"login": "ada@example.org", "password": format!("{PASSWORD}?")}).to_string();
        let guessed = self.send(&Request::post("/mesh/auth", &guess), &[401]);
        let ended = session.logout(&self.site.server).status;
        self.session = Some(Session::begin(&self.site.server));
        match guessed {
            Ok(_) if matches!(ended, 200 | 204) => Outcome::Well,
            Ok(_) => Outcome::Wrong(format!("a logout was answered with {ended}")),
            Err(wrong) => Outcome::Wrong(wrong),
        }
    }
}
