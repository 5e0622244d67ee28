//! What is asked? The workloads, and how each server is asked for the same.

use std::borrow::Cow;

use serde_json::Value;

use super::account;
use super::load::Background;
use super::peer::{Kind, Peer};
use super::request::{Request, base64};

/// One thing to measure.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) name: Cow<'static, str>,
    pub(crate) what: &'static str,
    /// Which servers are compared.
    pub(crate) peers: &'static [Kind],
    pub(crate) connections: usize,
    /// Posts of the sample; 0 until it is one of several sizes.
    pub(crate) posts: u32,
    /// Different records asked for, so that more is read than a few pages.
    pub(crate) records: u32,
    /// Worker threads of the server.
    pub(crate) threads: usize,
    pub(crate) placing: Placing,
    /// Bytes of the response cache; 0 turns it off.
    pub(crate) cache: &'static str,
    /// What else is going on.
    pub(crate) background: Option<Background>,
    /// At the least this much of the peer's speed, by CPU per request, or of its p99.
    pub(crate) targets: &'static [Target],
    /// The workload that its growth is counted from; empty where there is none.
    pub(crate) against: Cow<'static, str>,
    pub(crate) read: Read,
    /// How the query is sent.
    pub(crate) way: Way,
    /// Pages that lie before the one that is asked for.
    pub(crate) pages_before: u32,
    /// What [`Workload::prepare`] found out.
    pub(crate) prepared: Prepared,
}

/// Which cores server and load have, where processes can be pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placing {
    /// One each.
    Apart,
    /// The server has all, the load one of them.
    Free,
    /// So many threads of each. They share as many cores where there are not twice as many, one of each on every
    /// core, so that with more cores the load grows as the server does.
    Together(usize),
}

/// How a query is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As it is.
    Plain,
    /// By the id under which it was registered.
    Persisted,
    /// As it is, with a token and a signature.
    Signed,
}

/// What a running server had to be asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prepared {
    id: String,
    after: Option<String>,
    session: Session,
}

/// What signs requests.
#[derive(Clone, Debug, Default)]
struct Session {
    token: String,
    key: String,
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
    /// CPU per request within this many times that of the workload that it is held against.
    Cost(f64),
    /// The same, as a multiple of what a peer's grows by.
    CostBeside(Kind, f64),
    /// CPU per row beyond the first within this many times that of another workload.
    Row { than: &'static str, most: f64 },
    /// At the least this many times the requests per second of the workload that it is held against.
    Throughput(f64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Read {
    /// Scalars of one post.
    Scalars,
    /// A post with author, comments and their authors.
    Nested,
    /// The newest posts with authors.
    Newest,
    /// The same with comments and their authors.
    Deep,
    /// This many posts in the order of an index.
    Page { first: u32 },
    /// Reads that all differ: ids, queries and cursors.
    Many,
}

const READ_PEERS: &[Kind] = &[Kind::Limit, Kind::Mesh, Kind::Constant, Kind::GraphQl];

/// The first of the workloads, which all others are variants of.
pub(crate) const READ: Workload = Workload {
    name: Cow::Borrowed(""),
    what: "",
    peers: READ_PEERS,
    connections: 16,
    posts: 100_000,
    records: 4_096,
    threads: 1,
    placing: Placing::Apart,
    cache: "0",
    background: None,
    targets: &[Target::Speed(Kind::Limit, 0.95), Target::Tail(Kind::Limit, 1.3)],
    against: Cow::Borrowed(""),
    read: Read::Scalars,
    way: Way::Plain,
    pages_before: 0,
    prepared: Prepared {
        id: String::new(),
        after: None,
        session: Session { token: String::new(), key: String::new() },
    },
};

impl Workload {
    /// The requests of a workload, in the form that a server takes.
    pub(crate) fn requests(&self, kind: Kind) -> Vec<Request> {
        let point = matches!(self.read, Read::Scalars | Read::Nested);
        if !point || kind == Kind::Constant {
            return vec![self.request(kind, 1)];
        }
        (0..self.records).map(|number| self.request(kind, self.record(number))).collect()
    }

    /// One of the posts: the same in every run, and as if by chance, so that no two that follow lie together.
    pub(crate) fn record(&self, number: u32) -> u32 {
        let mut bits = u64::from(number).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        1 + ((bits ^ (bits >> 31)) % u64::from(self.posts.max(1))) as u32
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
                        Request::get(path).with(&format!("X-Mesh-Query-Id: {}\r\n", self.prepared.id))
                    }
                    Way::Signed => self.signed(path, &self.query()),
                }
            }
        }
    }

    /// A query that is signed in the session that was begun.
    pub(crate) fn signed(&self, path: String, query: &str) -> Request {
        let Session { token, key } = &self.prepared.session;
        let signature = account::sign(key, &base64(query.as_bytes()));
        let headers = format!("X-Mesh-Token: {token}\r\nX-Mesh-Signature: sha256={signature}\r\n");
        Request::mesh(path, query).with(&headers)
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
                self.prepared.session = Session { token, key };
            }
        }
        self.prepared.after = None;
        for _ in 0..self.pages_before {
            let page = peer.ask(&self.request(Kind::Mesh, 0))?;
            self.prepared.after = Some(text(page.get("pageInfo").unwrap_or(&Value::Null), "endCursor")?);
        }
        Ok(())
    }

    /// Rows of a page, where that is what is measured.
    pub(crate) fn rows(&self) -> Option<u32> {
        match self.read {
            Read::Page { first } => Some(first),
            _ => None,
        }
    }

    /// Whether it is about many requests that all differ, and not about how long they take.
    pub(crate) fn is_many(&self) -> bool {
        matches!(self.read, Read::Many)
    }

    /// Whether it is to be measured on samples of several sizes.
    pub(crate) fn is_sized(&self) -> bool {
        self.posts == 0
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
            Read::Page { .. } | Read::Many => "/".to_owned(),
        }
    }

    pub(crate) fn query(&self) -> String {
        let select = match self.read {
            Read::Scalars => {
                r#""id":true,"title":true,"body":true,"published":true,"views":true,"publishedAt":true"#
                    .to_owned()
            }
            Read::Nested => format!(r#""title":true,{AUTHOR},{COMMENTS}"#),
            Read::Newest => format!(r#""id":true,"title":true,"publishedAt":true,{AUTHOR}"#),
            Read::Deep => format!(r#""id":true,"title":true,"publishedAt":true,{AUTHOR},{COMMENTS}"#),
            Read::Page { .. } | Read::Many => r#""id":true,"title":true,"views":true"#.to_owned(),
        };
        let controls = match self.read {
            Read::Scalars | Read::Nested | Read::Many => String::new(),
            Read::Newest | Read::Deep => {
                r#","$where":{"field":"published","op":"eq","value":true},"$orderBy":[{"field":"publishedAt","direction":"desc"}],"$page":{"first":20}"#.to_owned()
            }
            Read::Page { first } => {
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
            Read::Page { .. } | Read::Many => String::new(),
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

fn page(select: &str) -> String {
    let info = "pageInfo { hasNextPage startCursor endCursor }";
    format!("{{ posts(first: 20) {{ items {{ {select} }} {info} }} }}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::list::named;

    #[test]
    fn every_query_is_json() {
        for workload in named("all").unwrap() {
            assert!(serde_json::from_str::<Value>(&workload.query()).is_ok(), "{}", workload.name);
        }
    }

    #[test]
    fn records_are_scattered() {
        let [workload] = &named("w1").unwrap()[..] else { panic!() };
        let all: Vec<u32> = (0..workload.records).map(|number| workload.record(number)).collect();
        let mut tenths = [0u32; 10];
        for record in &all {
            assert!((1..=workload.posts).contains(record), "{record}");
            tenths[(record - 1) as usize * 10 / workload.posts as usize] += 1;
        }
        let even = workload.records / 10;
        assert!(tenths.iter().all(|count| count.abs_diff(even) < even / 5), "{tenths:?}");
        let near = all.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 100).count();
        assert!(near < all.len() / 100, "{near} of those that follow lie together");
    }
}
