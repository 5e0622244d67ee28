//! What is asked? The workloads, and how each server is asked for the same.

use serde_json::Value;

use super::account;
use super::load::Background;
use super::peer::{Kind, Peer};

/// Different records asked for, so that more is read than a few pages.
const RECORDS: u32 = 4_096;

/// One thing to measure.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// Which servers are compared.
    pub(crate) peers: &'static [Kind],
    pub(crate) connections: usize,
    /// The size of the sample, in units of the usual one.
    pub(crate) scale: u32,
    /// Worker threads of the server.
    pub(crate) threads: usize,
    /// Bytes of the response cache; 0 turns it off.
    pub(crate) cache: &'static str,
    /// What else is going on.
    pub(crate) background: Option<Background>,
    /// At the least this much of the peer's speed, by CPU per request, or of its p99.
    pub(crate) targets: &'static [Target],
    read: Read,
    /// How the query is sent.
    way: Way,
    /// Pages that lie before the one that is asked for.
    pages_before: u32,
    /// What [`Workload::prepare`] found out.
    prepared: Prepared,
}

/// How a query is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As it is.
    Plain,
    /// By the id under which it was registered.
    Persisted,
    /// As it is, with a token and a signature.
    Signed,
}

/// What a running server had to be asked for.
#[derive(Clone, Debug, Default)]
struct Prepared {
    id: String,
    after: Option<String>,
    session: String,
}

/// What a server must reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// This part of another's speed, by CPU per request.
    Speed(Kind, f64),
    /// p99 within this many times another's.
    Tail(Kind, f64),
    /// p99 within that many microseconds.
    Within(f64),
}

#[derive(Clone, Copy, Debug)]
enum Read {
    /// Scalars of one post.
    Scalars,
    /// A post with author, comments and their authors.
    Nested,
    /// The newest posts with authors.
    Newest,
    /// The same with comments and their authors.
    Deep,
    /// This many posts in the order of their ids, after a filter that no index serves.
    Page { first: u32 },
}

const READ_PEERS: &[Kind] = &[Kind::Limit, Kind::Mesh, Kind::Constant, Kind::GraphQl];

const READ: Workload = Workload {
    name: "",
    what: "",
    peers: READ_PEERS,
    connections: 16,
    scale: 1,
    threads: 1,
    cache: "0",
    background: None,
    targets: &[Target::Speed(Kind::Limit, 0.95), Target::Tail(Kind::Limit, 1.3)],
    read: Read::Scalars,
    way: Way::Plain,
    pages_before: 0,
    prepared: Prepared { id: String::new(), after: None, session: String::new() },
};

const NESTED_TARGETS: &[Target] =
    &[Target::Speed(Kind::Limit, 0.95), Target::Tail(Kind::Limit, 1.3), Target::Speed(Kind::GraphQl, 3.5)];

const SIGNED_TARGETS: &[Target] = &[Target::Speed(Kind::Limit, 0.9), Target::Tail(Kind::Limit, 1.3)];

fn cached() -> Workload {
    Workload {
        peers: &[Kind::Constant, Kind::Mesh],
        cache: "64 MiB",
        targets: &[Target::Speed(Kind::Constant, 0.8)],
        ..READ
    }
}

#[expect(clippy::too_many_lines, reason = "a list, an entry each")]
fn all() -> Vec<Workload> {
    vec![
        Workload { name: "w1", what: "one post by id, scalars", ..READ },
        Workload {
            name: "w2",
            what: "one post by id with author, comments and their authors",
            read: Read::Nested,
            targets: NESTED_TARGETS,
            ..READ
        },
        Workload {
            name: "w3",
            what: "the 20 newest published posts with author",
            read: Read::Newest,
            ..READ
        },
        Workload {
            name: "w4",
            what: "the same with comments and their authors",
            read: Read::Deep,
            targets: NESTED_TARGETS,
            ..READ
        },
        Workload { name: "c1", what: "w1 again and again, from the response cache", ..cached() },
        Workload {
            name: "c2",
            what: "w2 again and again, from the response cache",
            read: Read::Nested,
            ..cached()
        },
        Workload {
            name: "c4",
            what: "w4 again and again, from the response cache",
            read: Read::Deep,
            ..cached()
        },
        Workload { name: "p1", what: "w1 by the id of a persisted query", way: Way::Persisted, ..READ },
        Workload {
            name: "p2",
            what: "w2 by the id of a persisted query",
            read: Read::Nested,
            way: Way::Persisted,
            ..READ
        },
        Workload { name: "s1", what: "w1 signed", way: Way::Signed, targets: SIGNED_TARGETS, ..READ },
        Workload {
            name: "s2",
            what: "w2 signed",
            read: Read::Nested,
            way: Way::Signed,
            targets: SIGNED_TARGETS,
            ..READ
        },
        Workload {
            name: "s3",
            what: "w3 signed",
            read: Read::Newest,
            way: Way::Signed,
            targets: SIGNED_TARGETS,
            ..READ
        },
        Workload {
            name: "s4",
            what: "w4 signed",
            read: Read::Deep,
            way: Way::Signed,
            targets: SIGNED_TARGETS,
            ..READ
        },
        Workload {
            name: "starve",
            what: "w1 while four clients scan the whole table",
            peers: &[Kind::Mesh],
            connections: 4,
            threads: 2,
            background: Some(Background::Scans),
            targets: &[Target::Within(5_000.0)],
            ..READ
        },
        Workload {
            name: "rows1",
            what: "1 post, for the cost of a row",
            read: Read::Page { first: 1 },
            ..growth()
        },
        Workload {
            name: "rows20",
            what: "20 posts, for the cost of a row",
            read: Read::Page { first: 20 },
            ..growth()
        },
        Workload {
            name: "rows1000",
            what: "1,000 posts, for the cost of a row",
            read: Read::Page { first: 1_000 },
            ..growth()
        },
        Workload {
            name: "rows20000",
            what: "20,000 posts, for the cost of a row",
            read: Read::Page { first: 20_000 },
            connections: 1,
            ..growth()
        },
        Workload {
            name: "rows100000",
            what: "99,999 posts, for the cost of a row",
            read: Read::Page { first: 99_999 },
            connections: 1,
            ..growth()
        },
        Workload {
            name: "page1",
            what: "the first 20 posts by views",
            read: Read::Page { first: 20 },
            ..growth()
        },
        Workload {
            name: "page1000",
            what: "the page after 1,000 others",
            read: Read::Page { first: 20 },
            pages_before: 1_000,
            ..growth()
        },
        Workload {
            name: "large",
            what: "w2 on ten times the data",
            read: Read::Nested,
            scale: 10,
            targets: NESTED_TARGETS,
            peers: &[Kind::Limit, Kind::Mesh],
            ..READ
        },
        Workload {
            name: "cores",
            what: "w1 with two threads on both cores",
            threads: 2,
            peers: &[Kind::Mesh],
            ..growth()
        },
    ]
}

fn growth() -> Workload {
    Workload { peers: &[Kind::Mesh], targets: &[], ..READ }
}

/// The workloads of that name, or of a group of them: `reads`, `cache`, `growth`, `all`.
pub(crate) fn named(list: &str) -> Result<Vec<Workload>, String> {
    let all = all();
    let mut found = Vec::new();
    for name in list.split(',') {
        let names: &[&str] = match name {
            "reads" => &["w1", "w2", "w3", "w4"],
            "cache" => &["c1", "c2", "c4"],
            "growth" => &[
                "rows1",
                "rows20",
                "rows1000",
                "rows20000",
                "rows100000",
                "page1",
                "page1000",
                "large",
                "cores",
            ],
            "persisted" => &["p1", "p2"],
            "signed" => &["s1", "s2", "s3", "s4"],
            _ => &[],
        };
        let matching =
            |workload: &&Workload| name == "all" || workload.name == name || names.contains(&workload.name);
        let before = found.len();
        found.extend(all.iter().filter(matching).cloned());
        if found.len() == before {
            let known: Vec<_> = all.iter().map(|workload| workload.name).collect();
            return Err(format!(
                "there is no workload '{name}'; there are {} and the groups reads, persisted, signed, cache, growth, all",
                known.join(", ")
            ));
        }
    }
    Ok(found)
}

/// A request as bytes that can be sent.
pub(crate) struct Request {
    method: &'static str,
    path: String,
    headers: String,
    body: String,
}

impl Request {
    fn get(path: String) -> Self {
        Self { method: "GET", path, headers: String::new(), body: String::new() }
    }

    fn mesh(path: String, query: &str) -> Self {
        Self { headers: format!("X-Mesh-Query: {}\r\n", base64(query.as_bytes())), ..Self::get(path) }
    }

    fn graphql(query: &str) -> Self {
        Self::post("/", &serde_json::json!({ "query": query }))
    }

    fn post(path: &str, body: &Value) -> Self {
        let body = body.to_string();
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        Self { method: "POST", path: path.to_owned(), headers, body }
    }

    /// The whole request.
    pub(crate) fn text(&self) -> String {
        let Self { method, path, headers, body } = self;
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n{body}")
    }
}

impl Workload {
    /// The requests of a workload, in the form that a server takes.
    pub(crate) fn requests(&self, kind: Kind) -> Vec<Request> {
        let point = matches!(self.read, Read::Scalars | Read::Nested);
        if !point || kind == Kind::Constant {
            return vec![self.request(kind, 1)];
        }
        // Steps of a prime scatter the ids over the table, the same way in every run.
        let records = 100_000 * self.scale;
        (0..RECORDS).map(|number| self.request(kind, 1 + number.wrapping_mul(7_919) % records)).collect()
    }

    fn request(&self, kind: Kind, id: u32) -> Request {
        match kind {
            Kind::Limit | Kind::Constant => Request::get(self.own_path(id)),
            Kind::GraphQl => Request::graphql(&self.graphql(id)),
            Kind::Mesh => {
                let point = matches!(self.read, Read::Scalars | Read::Nested);
                let path = if point { format!("/mesh/post/{id}") } else { "/mesh/post".to_owned() };
                match self.way {
                    Way::Plain => Request::mesh(path, &self.query()),
                    Way::Persisted => {
                        let headers = format!("X-Mesh-Query-Id: {}\r\n", self.prepared.id);
                        Request { headers, ..Request::get(path) }
                    }
                    Way::Signed => {
                        let mut request = Request::mesh(path, &self.query());
                        request.headers.push_str(&self.prepared.session);
                        request
                    }
                }
            }
        }
    }

    /// Asks a running server for what the requests have to hold: the id of the query, a session, a cursor.
    pub(crate) fn prepare(&mut self, peer: &Peer) -> Result<(), String> {
        let text = |body: &Value, name: &str| {
            let found = body.get(name).and_then(Value::as_str).map(str::to_owned);
            found.ok_or_else(|| format!("the answer lacks {name}: {body}"))
        };
        match self.way {
            Way::Plain => {}
            Way::Persisted => {
                let body = serde_json::json!({ "query": self.query() });
                self.prepared.id = text(&peer.ask(&Request::post("/mesh/queries", &body))?, "id")?;
            }
            Way::Signed => {
                let body = serde_json::json!({ "login": account::LOGIN, "password": account::PASSWORD });
                let session = peer.ask(&Request::post("/mesh/auth", &body))?;
                let (token, key) = (text(&session, "token")?, text(&session, "signingToken")?);
                let signature = account::sign(&key, &base64(self.query().as_bytes()));
                self.prepared.session =
                    format!("X-Mesh-Token: {token}\r\nX-Mesh-Signature: sha256={signature}\r\n");
            }
        }
        self.prepared.after = None;
        for _ in 0..self.pages_before {
            let page = peer.ask(&self.request(Kind::Mesh, 0))?;
            self.prepared.after = Some(text(page.get("pageInfo").unwrap_or(&Value::Null), "endCursor")?);
        }
        Ok(())
    }

    /// Whether the server must have sessions.
    pub(crate) fn is_signed(&self) -> bool {
        self.way == Way::Signed
    }

    /// The path under which the servers written by hand have it.
    pub(crate) fn own_path(&self, id: u32) -> String {
        match self.read {
            Read::Scalars => format!("/w1/{id}"),
            Read::Nested => format!("/w2/{id}"),
            Read::Newest => "/w3".to_owned(),
            Read::Deep => "/w4".to_owned(),
            Read::Page { .. } => "/".to_owned(),
        }
    }

    fn query(&self) -> String {
        let select = match self.read {
            Read::Scalars => {
                r#""id":true,"title":true,"body":true,"published":true,"views":true,"publishedAt":true"#
                    .to_owned()
            }
            Read::Nested => format!(r#""title":true,{AUTHOR},{COMMENTS}"#),
            Read::Newest => format!(r#""id":true,"title":true,"publishedAt":true,{AUTHOR}"#),
            Read::Deep => format!(r#""id":true,"title":true,"publishedAt":true,{AUTHOR},{COMMENTS}"#),
            Read::Page { .. } => r#""id":true,"title":true,"views":true"#.to_owned(),
        };
        let controls = match self.read {
            Read::Scalars | Read::Nested => String::new(),
            Read::Newest | Read::Deep => {
                r#","$where":{"field":"published","op":"eq","value":true},"$orderBy":[{"field":"publishedAt","direction":"desc"}],"$page":{"first":20}"#.to_owned()
            }
            Read::Page { first, .. } => {
                let after = self.prepared.after.as_ref().map(|after| format!(r#","after":"{after}""#));
                let after = after.unwrap_or_default();
                format!(
                    r#","$orderBy":[{{"field":"views","direction":"asc"}}],"$page":{{"first":{first}{after}}}"#
                )
            }
        };
        format!(r#"{{"post":{{"$select":{{{select}}}{controls}}}}}"#)
    }

    fn graphql(&self, id: u32) -> String {
        let comments = "comments { body author { name } }";
        match self.read {
            Read::Scalars => format!("{{ post(id: {id}) {{ id title body published views publishedAt }} }}"),
            Read::Nested => format!("{{ post(id: {id}) {{ title author {{ name }} {comments} }} }}"),
            Read::Newest => page("id title publishedAt author { name }"),
            Read::Deep => page(&format!("id title publishedAt author {{ name }} {comments}")),
            Read::Page { .. } => String::new(),
        }
    }

    /// An answer without what may differ: the text of cursors, and GraphQL's envelope.
    pub(crate) fn comparable(&self, kind: Kind, mut body: Value) -> Value {
        if kind == Kind::GraphQl {
            let data = body.get_mut("data").map(Value::take).unwrap_or_default();
            body = data.as_object().and_then(|data| data.values().next()).cloned().unwrap_or_default();
        }
        if let Some(info) = body.get_mut("pageInfo").and_then(Value::as_object_mut) {
            for name in ["startCursor", "endCursor"] {
                if info.get(name).is_some_and(Value::is_string) {
                    info.insert(name.to_owned(), Value::from("a cursor"));
                }
            }
        }
        body
    }
}

const AUTHOR: &str = r#""author":{"$select":{"name":true}}"#;
const COMMENTS: &str = r#""comments":{"$select":{"body":true,"author":{"$select":{"name":true}}}}"#;

/// What reads the whole table: no index serves the filter.
pub(crate) fn scan(number: u32) -> Request {
    let query = format!(
        r#"{{"comment":{{"$select":{{"id":true}},"$where":{{"field":"body","op":"ilike","value":"%nothing like that {number}%"}}}}}}"#
    );
    Request::mesh("/mesh/comment".to_owned(), &query)
}

fn page(select: &str) -> String {
    let info = "pageInfo { hasNextPage startCursor endCursor }";
    format!("{{ posts(first: 20) {{ items {{ {select} }} {info} }} }}")
}

/// Standard base64, written anew here so that a fault of the server's own code cannot hide.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .enumerate()
            .fold(0u32, |word, (place, byte)| word | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let letter = LETTERS.get((word >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'A');
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standard_one() {
        let texts = [b"".as_slice(), b"A", b"AB", b"ABC", b"ABCD"].map(base64);
        assert_eq!(texts, ["", "QQ==", "QUI=", "QUJD", "QUJDRA=="]);
    }

    #[test]
    fn every_query_is_json() {
        for workload in all() {
            assert!(serde_json::from_str::<Value>(&workload.query()).is_ok(), "{}", workload.name);
        }
    }

    #[test]
    fn records_are_scattered() {
        let [workload] = &named("w1").unwrap()[..] else { panic!() };
        let mut paths: Vec<_> = workload.requests(Kind::Mesh).into_iter().map(|it| it.path).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), RECORDS as usize);
    }
}
