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
use crate::bench::request::{Kind, fetch_json, file_of};
use crate::bench::{Setup, prepare};

/// Number of requests per measurement. Each is sent once, because a nonce is accepted once.
const REQUESTS: u32 = 60_000;
/// Number of requests before a measurement.
const WARM_UP: u32 = 10_000;
const ROUNDS: usize = 5;
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
    let setup = prepare(root, &Options::parse(arguments)?)?;
    println!("{SESSIONS} sessions, processor time per request, median (least to most) of {ROUNDS} rounds");
    let mut fine = true;
    for (name, signings) in CASES {
        let [workload] = &list::parse_list(name)?[..] else { return Err(format!("{name} is no workload")) };
        let kinds = workload.kinds(Engine::Sqlite).into_iter();
        let mut limits: Vec<(Kind, Vec<f64>)> =
            kinds.filter(|kind| matches!(kind, Kind::Hand(_))).map(|kind| (kind, Vec::new())).collect();
        let mut seen: Vec<Vec<f64>> = signings.iter().map(|_| Vec::new()).collect();
        for round in 1..=ROUNDS {
            for (kind, times) in &mut limits {
                times.push(limit(&setup, workload, *kind)?);
            }
            for ((signing, _), times) in signings.iter().zip(&mut seen) {
                times.push(mesh(&setup, workload, *signing)?);
            }
            eprintln!("  round {round}: {name} {seen:.2?} us, hand-written {limits:.2?}");
        }
        let limits = limits.iter_mut().map(|(kind, times)| (median(times), *kind));
        let Some((limit, kind)) = limits.min_by(|one, other| one.0.total_cmp(&other.0)) else { continue };
        println!("  {name} hand-written ({kind}) {limit:>6.2} us");
        for ((signing, target), times) in signings.iter().zip(&mut seen) {
            let middle = median(times);
            let ratio = limit / middle.max(1e-9);
            fine &= target.is_none_or(|target| ratio >= target);
            let target = target.map_or_else(String::new, |target| format!(", at least {target}"));
            let [least, most] = [times.first(), times.last()].map(|time| time.copied().unwrap_or_default());
            println!(
                "  {name} {:<17} {middle:>6.2} us ({least:.2} to {most:.2}): {ratio:.2}{target}",
                signing.name()
            );
        }
    }
    println!("{}", if fine { "all targets were met" } else { "a target was missed" });
    Ok(fine)
}

/// Sorts values and returns the one in the middle.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Measures a hand-written server.
fn limit(setup: &Setup, workload: &Workload, kind: Kind) -> Result<f64, String> {
    let data = setup.data(workload.posts, "wal")?;
    let peer = Peer::start(setup, &data, kind, workload)?;
    let request = |number| workload.request(kind, workload.record(number));
    measure(setup, peer, workload, &request)
}

/// Measures the server.
fn mesh(setup: &Setup, workload: &Workload, signing: Signing) -> Result<f64, String> {
    let data = setup.data(workload.posts, "wal")?;
    let state = setup.folder.join("signed.state");
    for suffix in ["", "-wal", "-shm", "-signal", "-servers"] {
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
    let request = |number: u32| {
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
    measure(setup, peer, workload, &request)
}

/// Returns the microseconds of processor time per request.
fn measure(
    setup: &Setup,
    mut peer: Peer,
    workload: &Workload,
    request: &dyn Fn(u32) -> Request,
) -> Result<f64, String> {
    let file = setup.folder.join("signed.requests");
    let send = |peer: &mut Peer, numbers: std::ops::Range<u32>| {
        let written = std::fs::write(&file, file_of(numbers.map(request)));
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let before = peer.cpu_seconds()?;
        let load = Loader::new(setup, &file, peer.address(), workload.connections).send_each_once()?;
        if load.errors > 0 {
            return Err(format!("{} of {} requests failed", load.errors, load.requests));
        }
        Ok((peer.cpu_seconds()? - before) * 1e6 / load.requests.max(1) as f64)
    };
    send(&mut peer, 0..WARM_UP)?;
    send(&mut peer, WARM_UP..WARM_UP + REQUESTS)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!((median(&mut [3.0, 1.0, 2.0]), median(&mut [])), (2.0, 0.0));
    }
}
