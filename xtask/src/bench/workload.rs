//! Workloads, and the requests that each server receives for them.

pub(super) mod account;
pub(super) mod alternatives;
pub(super) mod list;
pub(super) mod read;
pub(super) mod signed;
pub(super) mod size;

use std::borrow::Cow;

use mesh_tests::kit::encoding;
use mesh_tests::{Request, encode};
use serde_json::{Value, json};

use super::machine::cores::CorePlacement;
use super::request::{Kind, fetch_json};
use read::{Engine, Read};

/// A workload.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) name: Cow<'static, str>,
    pub(crate) what: &'static str,
    /// The servers to compare.
    pub(crate) peers: &'static [Kind],
    pub(crate) connections: usize,
    /// Posts of the sample; 0 for workloads that run on several sizes.
    pub(crate) posts: u32,
    /// Number of distinct records, so that reads cover more than a few database pages.
    pub(crate) records: u32,
    /// Worker threads of the server.
    pub(crate) threads: usize,
    pub(crate) placement: CorePlacement,
    /// Bytes of the response cache; 0 turns it off.
    pub(crate) cache: &'static str,
    /// Whether other clients scan a table at the same time.
    pub(crate) with_scans: bool,
    /// Targets of the server.
    pub(crate) targets: &'static [Target],
    /// The baseline workload for growth; empty if there is none.
    pub(crate) baseline: Cow<'static, str>,
    pub(crate) read: Read,
    /// How the query is sent.
    pub(crate) transport: Transport,
    /// Number of pages before the requested one.
    pub(crate) pages_before: u32,
    /// Values from [`Workload::prepare`].
    pub(crate) prepared: Prepared,
}

/// How a query is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// In the header.
    Inline,
    /// By the id of a registered query.
    Persisted,
    /// In the header, with a token and a signature.
    Signed,
}

/// Values obtained from the running server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prepared {
    id: String,
    after: Option<String>,
    session: Session,
}

/// Credentials for signed requests.
#[derive(Clone, Debug, Default)]
struct Session {
    token: String,
    key: String,
}

/// A target of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Minimum speed relative to another server, by processor time per request.
    Speed(Kind, f64),
    /// Maximum p99 as a multiple of another server's.
    Tail(Kind, f64),
    /// Maximum p99 in microseconds.
    Within(f64),
    /// Maximum processor time per request as a multiple of the baseline workload's.
    Cost(f64),
    /// Maximum growth of the processor time relative to the growth of another server.
    CostRelative(Kind, f64),
    /// Maximum processor time per row beyond the first as a multiple of the baseline workload's.
    Row(f64),
    /// Minimum requests per second as a multiple of the baseline workload's.
    Throughput(f64),
}

const READ_PEERS: &[Kind] = &[Kind::Limit, Kind::Mesh, Kind::Constant, Kind::GraphQl];

/// The range of the views of the sample's posts.
const VIEWS: u32 = 1_000_000;
/// Number of distinct records that appear in a query or its parameters. The sample has this many suppliers.
const QUERIES: u32 = 100;

/// Number of reads of a batch.
const BATCH: u32 = 5;

/// The base of all workloads.
pub(crate) const READ: Workload = Workload {
    name: Cow::Borrowed(""),
    what: "",
    peers: READ_PEERS,
    connections: 16,
    posts: 100_000,
    records: 4_096,
    threads: 1,
    placement: CorePlacement::OneCoreEach,
    cache: "0",
    with_scans: false,
    targets: &[Target::Speed(Kind::Limit, 0.95), Target::Tail(Kind::Limit, 1.3)],
    baseline: Cow::Borrowed(""),
    read: Read::Scalars,
    transport: Transport::Inline,
    pages_before: 0,
    prepared: Prepared {
        id: String::new(),
        after: None,
        session: Session { token: String::new(), key: String::new() },
    },
};

impl Workload {
    /// Returns the servers to compare: the hand-written ones, and the others.
    pub(crate) fn kinds(&self, engine: Engine) -> Vec<Kind> {
        let variants = |kind: &Kind| match kind {
            Kind::Limit => self.read.variants(engine).iter().map(|variant| Kind::Hand(*variant)).collect(),
            other => vec![*other],
        };
        self.peers.iter().flat_map(variants).collect()
    }

    /// Returns the requests of a workload for a kind of server.
    pub(crate) fn requests(&self, kind: Kind) -> Vec<Request> {
        if !self.read.has_record() || kind == Kind::Constant {
            return vec![self.request(kind, 1)];
        }
        (0..self.records).map(|number| self.request(kind, self.record(number))).collect()
    }

    /// Returns the id of a record. Ids of posts are pseudo-random, but equal in every run, so that successive posts are not
    /// adjacent.
    pub(crate) fn record(&self, number: u32) -> u32 {
        match self.read {
            // Employees with two levels of managers and of reports.
            Read::Tree => return 6 + number % (self.posts / 160).saturating_sub(6).max(1),
            // The first value of a page. The values are spread evenly, and the last pages are full.
            Read::Rows(first) => {
                let pages = (self.posts / first.max(1)).clamp(1, QUERIES);
                return number % pages * (VIEWS / pages);
            }
            read if read.has_record_in_query() => return 1 + number % QUERIES,
            _ => {}
        }
        let mut bits = u64::from(number).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        1 + ((bits ^ (bits >> 31)) % u64::from(self.posts.max(1))) as u32
    }

    fn request(&self, kind: Kind, id: u32) -> Request {
        if self.read == Read::Batch {
            return self.batch(kind, id);
        }
        match kind {
            Kind::Limit | Kind::Hand(_) | Kind::Constant | Kind::PostgRest => {
                let id = if self.read.has_record() { id.to_string() } else { String::new() };
                self.read.complete(Request::new("GET", &format!("/{id}")), id.parse().unwrap_or_default())
            }
            Kind::GraphQl => alternatives::graphql(self.read, id),
            Kind::PostGraphile => alternatives::postgraphile(self.read, id),
            Kind::Datasette => alternatives::datasette(self.read, id),
            Kind::Mesh => {
                let (path, query) = (self.read.path(id), self.query_of(id));
                match self.transport {
                    Transport::Inline => {
                        let request = self.read.complete(Request::get(&path, &query), id);
                        match self.read.params(id) {
                            Some(params) => request.header("X-Mesh-Params", encode(&params)),
                            None => request,
                        }
                    }
                    Transport::Persisted => {
                        Request::new("GET", &path).header("X-Mesh-Query-Id", &self.prepared.id)
                    }
                    Transport::Signed => self.signed(&path, &query),
                }
            }
        }
    }

    /// Returns a request that reads several posts, spread over the table. Hand-written servers get their ids.
    fn batch(&self, kind: Kind, id: u32) -> Request {
        let ids = (0..BATCH).map(|place| 1 + (id - 1 + place * (self.posts / BATCH)) % self.posts);
        if kind != Kind::Mesh {
            return Request::post("/", &json!(ids.collect::<Vec<_>>()).to_string());
        }
        let query = self.query();
        let step = |id| json!({ "method": "GET", "path": format!("/post/{id}"), "query": query });
        Request::post("/mesh/batch", &json!({ "steps": ids.map(step).collect::<Vec<_>>() }).to_string())
    }

    /// Returns a signed request.
    pub(crate) fn signed(&self, path: &str, query: &str) -> Request {
        let Session { token, key } = &self.prepared.session;
        let signature = encoding::signature(key, &encode(query));
        Request::get(path, query).header("X-Mesh-Token", token).header("X-Mesh-Signature", signature)
    }

    /// Obtains the id of the query, the session and the cursor from the running server.
    pub(crate) fn prepare(&mut self, address: &str) -> Result<(), String> {
        let text = |body: &Value, name: &str| {
            let found = body.get(name).and_then(Value::as_str).map(str::to_owned);
            found.ok_or_else(|| format!("the reply has no {name}: {body}"))
        };
        match self.transport {
            Transport::Inline => {}
            Transport::Persisted => {
                let body = json!({ "query": self.query() }).to_string();
                self.prepared.id = text(&fetch_json(address, &Request::post("/mesh/queries", &body))?, "id")?;
            }
            Transport::Signed => {
                let body = json!({ "login": account::LOGIN, "password": account::PASSWORD }).to_string();
                let session = fetch_json(address, &Request::post("/mesh/auth", &body))?;
                let (token, key) = (text(&session, "token")?, text(&session, "signingToken")?);
                self.prepared.session = Session { token, key };
            }
        }
        self.prepared.after = None;
        for _ in 0..self.pages_before {
            let page = fetch_json(address, &self.request(Kind::Mesh, 0))?;
            self.prepared.after = Some(text(page.get("pageInfo").unwrap_or(&Value::Null), "endCursor")?);
        }
        Ok(())
    }

    /// Returns the number of rows of a page workload.
    pub(crate) fn rows(&self) -> Option<u32> {
        match self.read {
            Read::Page { first } | Read::Rows(first) => Some(first),
            _ => None,
        }
    }

    /// Whether it measures memory with many distinct requests.
    pub(crate) fn is_memory(&self) -> bool {
        matches!(self.read, Read::Many)
    }

    /// Whether it runs on samples of several sizes.
    pub(crate) fn is_sized(&self) -> bool {
        self.posts == 0
    }

    /// Whether it needs sessions.
    pub(crate) fn is_signed(&self) -> bool {
        self.transport == Transport::Signed
    }

    pub(crate) fn query(&self) -> String {
        self.query_of(1)
    }

    fn query_of(&self, id: u32) -> String {
        self.read.query(id, self.prepared.after.as_deref())
    }

    /// Removes the differences that are allowed: the text of cursors, the form of numbers, and the envelope of GraphQL.
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
        unify_numbers(&mut body);
        body
    }
}

/// Turns real numbers without a fraction into integers.
fn unify_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().filter(|real| real.fract() == 0.0 && real.abs() < 1e15) {
                *value = Value::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unify_numbers),
        Value::Object(members) => members.values_mut().for_each(unify_numbers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::list::parse_list;
    use super::*;

    #[test]
    fn every_query_is_valid_json() {
        for workload in parse_list("all").unwrap() {
            assert!(serde_json::from_str::<Value>(&workload.query()).is_ok(), "{}", workload.name);
        }
    }

    #[test]
    fn records_are_scattered() {
        let [workload] = &parse_list("w1").unwrap()[..] else { panic!() };
        let all: Vec<u32> = (0..workload.records).map(|number| workload.record(number)).collect();
        let mut tenths = [0u32; 10];
        for record in &all {
            assert!((1..=workload.posts).contains(record), "{record}");
            tenths[(record - 1) as usize * 10 / workload.posts as usize] += 1;
        }
        let even = workload.records / 10;
        assert!(tenths.iter().all(|count| count.abs_diff(even) < even / 5), "{tenths:?}");
        let near = all.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 100).count();
        assert!(near < all.len() / 100, "{near} successive records are adjacent");
    }
}
