//! `cargo xtask bench signed`: signed reads as in production, with many sessions and many messages, and with signatures
//! that are bound to one use. The state is in a file, as by default.

use std::path::Path;
use std::time::UNIX_EPOCH;

use mesh_tests::Request;
use mesh_tests::kit::encoding;
use serde_json::{Value, json};

use super::read::Engine;
use super::{Workload, account, list};
use crate::bench::load::Loader;
use crate::bench::options::Options;
use crate::bench::peer::Peer;
use crate::bench::report::{median, ratio};
use crate::bench::request::{Kind, fetch_json, file_of};
use crate::bench::{Setup, prepare, sqlite};

/// Number of requests per measurement. Each is sent once, because a nonce is accepted once.
const REQUESTS: u32 = 30_000;
const SESSIONS: usize = 64;
/// Number of spellings of the query, which differ in white space. Each session sends this many distinct messages.
const SPELLINGS: u32 = 16;

/// How requests are signed.
#[derive(Clone, Copy, PartialEq)]
enum Signing {
    None,
    Plain,
    Bound,
}

/// A way of signing, and its minimum speed relative to the hand-written server, which checks no signatures.
type Case = (Signing, Option<f64>);

const CASES: [(&str, &[Case]); 2] = [
    ("w1", &[(Signing::None, None), (Signing::Plain, Some(0.85)), (Signing::Bound, Some(0.75))]),
    ("w2", &[(Signing::None, None), (Signing::Plain, Some(0.9)), (Signing::Bound, None)]),
];

impl Signing {
    fn name(self) -> &'static str {
        match self {
            Self::None => "not signed",
            Self::Plain => "signed",
            Self::Bound => "signed and bound",
        }
    }
}

/// Runs the benchmark. `--no-build` uses the existing programs.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let setup = prepare(root, &options)?;
    let rounds = u32::try_from(options.rounds).map_err(|error| error.to_string())?;
    println!("{SESSIONS} sessions, processor time per request, medians of {rounds} rounds");
    let mut fine = true;
    for (name, cases) in CASES {
        let [workload] = &list::parse_list(name)?[..] else { return Err(format!("{name} is no workload")) };
        let kinds = workload.kinds(Engine::Sqlite).into_iter().filter(|kind| matches!(kind, Kind::Hand(_)));
        let mut limits =
            kinds.map(|kind| Server::limit(&setup, workload, kind)).collect::<Result<Vec<_>, _>>()?;
        let own = cases.iter().map(|(signing, _)| Server::mesh(&setup, workload, *signing));
        let mut own = own.collect::<Result<Vec<_>, _>>()?;
        for round in 0..=rounds {
            for server in limits.iter_mut().chain(&mut own) {
                let micros = server.measure(&setup, workload.connections, round)?;
                // The first round fills the caches of system, database and server.
                if round > 0 {
                    server.micros.push(micros);
                }
            }
            eprintln!("  {name} round {round}");
        }
        let Some(limit) = limits.iter().min_by(|one, other| one.cost().total_cmp(&other.cost())) else {
            continue;
        };
        println!("  {name} hand-written ({}) {:>6.2} us", limit.name, limit.cost());
        for ((_, target), server) in cases.iter().zip(&own) {
            let [ratio, least, most] = ratio(&server.micros, &limit.micros);
            fine &= target.is_none_or(|target| ratio >= target);
            let target = target.map_or_else(String::new, |target| format!(", at least {target}"));
            let Server { name: signing, .. } = server;
            println!(
                "  {name} {signing:<17} {:>6.2} us: {ratio:.2} ({least:.2} to {most:.2}){target}",
                server.cost()
            );
        }
    }
    println!("{}", if fine { "all targets were met" } else { "a target was missed" });
    Ok(fine)
}

/// A running server and its measurements.
struct Server<'a> {
    name: &'static str,
    peer: Peer,
    /// Returns the request with a number.
    request: Box<dyn Fn(u32) -> Request + 'a>,
    /// Microseconds of processor time per request, of each round.
    micros: Vec<f64>,
}

impl<'a> Server<'a> {
    /// Starts a hand-written server.
    fn limit(setup: &Setup, workload: &'a Workload, kind: Kind) -> Result<Self, String> {
        let peer = sqlite::start(setup, &setup.data(workload.posts, "wal")?, kind, workload)?;
        let request = move |number| workload.request(kind, workload.record(number));
        Ok(Self { name: kind.name(), peer, request: Box::new(request), micros: Vec::new() })
    }

    /// Starts the server.
    fn mesh(setup: &Setup, workload: &'a Workload, signing: Signing) -> Result<Self, String> {
        let data = setup.data(workload.posts, "wal")?;
        let state = setup.folder.join(format!("{}.state", signing.name()));
        for suffix in ["", "-wal", "-shm", "-servers"] {
            let mut path = state.clone().into_os_string();
            path.push(suffix);
            let _ = std::fs::remove_file(path);
        }
        let mut command = Peer::mesh(setup, workload, setup.cores.for_server(workload.placement).as_deref());
        command.args(["--database", &format!("sqlite:{}", data.display())]);
        command.env("MESH_STATE__STORE", "database").env("MESH_STATE__PATH", &state);
        if signing != Signing::None {
            command.envs(account::SETTINGS);
        }
        let peer = Peer::spawn(&mut command)?;
        let sessions = match signing {
            Signing::None => Vec::new(),
            _ => (0..SESSIONS).map(|_| Session::begin(peer.address())).collect::<Result<_, _>>()?,
        };
        let query = workload.query();
        let request = move |number: u32| {
            let path = workload.read.path(workload.record(number));
            let blanks = if signing == Signing::Plain { number % SPELLINGS } else { 0 };
            let request = Request::get(&path, &format!("{query}{}", " ".repeat(blanks as usize)));
            // All combinations of session and spelling occur.
            let place = (number / SPELLINGS) as usize % SESSIONS;
            match sessions.get(place) {
                Some(session) => session.sign(request, &path, signing),
                None => request,
            }
        };
        Ok(Self { name: signing.name(), peer, request: Box::new(request), micros: Vec::new() })
    }

    /// Returns the median processor time per request in microseconds.
    fn cost(&self) -> f64 {
        median(self.micros.clone())
    }

    /// Sends the requests of a round, and returns the microseconds of processor time per request.
    fn measure(&mut self, setup: &Setup, connections: usize, round: u32) -> Result<f64, String> {
        let file = setup.folder.join("signed.requests");
        let requests = round * REQUESTS..(round + 1) * REQUESTS;
        std::fs::write(&file, file_of(requests.map(&self.request)))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let before = self.peer.cpu_seconds()?;
        let load = Loader::new(setup, &file, self.peer.address(), connections).send_each_once()?;
        if load.errors > 0 {
            return Err(format!("{} of {} requests failed", load.errors, load.requests));
        }
        Ok((self.peer.cpu_seconds()? - before) * 1e6 / load.requests.max(1) as f64)
    }
}

/// The session of a client.
struct Session {
    token: String,
    key: String,
}

impl Session {
    fn begin(address: &str) -> Result<Self, String> {
        let body = json!({ "login": account::LOGIN, "password": account::PASSWORD }).to_string();
        let reply = fetch_json(address, &Request::post("/mesh/auth", &body))?;
        let text = |name: &str| reply.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { token: text("token"), key: text("signingToken") })
    }

    fn sign(&self, request: Request, path: &str, signing: Signing) -> Request {
        let query = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-mesh-query"));
        let mut message =
            query.map_or_else(String::new, |(_, value)| String::from_utf8_lossy(value).into_owned());
        let mut request = request.header("X-Mesh-Token", &self.token);
        if signing == Signing::Bound {
            let time = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
            let nonce = encoding::random(22);
            message = format!("{message}\nGET\n{path}\njson\n{time}\n{nonce}");
            request = request.header("X-Mesh-Timestamp", time.to_string()).header("X-Mesh-Nonce", nonce);
        }
        request.header("X-Mesh-Signature", encoding::signature(&self.key, &message))
    }
}
