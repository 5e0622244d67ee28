//! `cargo xtask bench signed`: signed reads as in production, with many sessions and many messages, and with signatures
//! that are bound to one use. The state is in a file, as by default.

use std::path::Path;
use std::time::UNIX_EPOCH;

use mesh_tests::Request;
use mesh_tests::kit::encoding;
use serde_json::{Value, json};

use super::load::Loader;
use super::machine::cores;
use super::options::Options;
use super::peer::Peer;
use super::request::{Kind, ask, file_of};
use super::workload::{Workload, account, list};
use super::{Ground, prepare};

/// Requests of a measurement; each is sent once, because a nonce is accepted once.
const REQUESTS: u32 = 60_000;
/// Requests before it.
const WARM_UP: u32 = 10_000;
const ROUNDS: usize = 5;
const SESSIONS: usize = 64;
/// Spellings of the query, which differ in white space. With the sessions, they make this many times as many messages.
const SPELLINGS: u32 = 16;

/// How requests are signed, and the speed relative to the hand-written server that each workload must reach.
#[derive(Clone, Copy, PartialEq)]
enum Signing {
    None,
    Plain,
    Bound,
}

const CASES: [(&str, Signing, Option<f64>); 5] = [
    ("w1", Signing::None, None),
    ("w1", Signing::Plain, Some(0.85)),
    ("w1", Signing::Bound, Some(0.75)),
    ("w2", Signing::Plain, Some(0.9)),
    ("w2", Signing::Bound, None),
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
    let ground = prepare(root, &Options::parse(arguments)?)?;
    let mut cpu: Vec<[Vec<f64>; 2]> = CASES.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    for round in 1..=ROUNDS {
        for ((name, signing, _), [limits, seen]) in CASES.iter().zip(&mut cpu) {
            let [workload] = &list::named(name)?[..] else { return Err(format!("{name} is no workload")) };
            limits.push(limit(&ground, workload)?);
            seen.push(mesh(&ground, workload, *signing)?);
            eprintln!(
                "  round {round}: {name} {}: {seen:.2?} us, hand-written {limits:.2?} us",
                signing.name()
            );
        }
    }
    println!("{SESSIONS} sessions, processor time per request, median (least to most) of {ROUNDS} rounds");
    let mut fine = true;
    for ((name, signing, target), [limits, seen]) in CASES.iter().zip(&mut cpu) {
        let ratio = median(limits) / median(seen).max(1e-9);
        fine &= target.is_none_or(|target| ratio >= target);
        let target = target.map_or_else(String::new, |target| format!(", at least {target}"));
        println!(
            "  {name} {:<17} {:>6.2} us ({:.2} to {:.2}), hand-written {:>6.2} us: {ratio:.2}{target}",
            signing.name(),
            median(seen),
            seen.first().copied().unwrap_or_default(),
            seen.last().copied().unwrap_or_default(),
            median(limits),
        );
    }
    println!("{}", if fine { "all targets were met" } else { "a target was missed" });
    Ok(fine)
}

/// Sorts values and returns the one in the middle.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Measures the hand-written server, which checks no signatures.
fn limit(ground: &Ground, workload: &Workload) -> Result<f64, String> {
    let data = ground.data(workload.posts, "wal")?;
    let peer = Peer::start(ground, &data, Kind::Limit, workload)?;
    let request = |number| Request::new("GET", &workload.peer_path(workload.record(number)));
    measure(ground, peer, workload, &request)
}

/// Measures the server.
fn mesh(ground: &Ground, workload: &Workload, signing: Signing) -> Result<f64, String> {
    let data = ground.data(workload.posts, "wal")?;
    let state = ground.folder.join("signed.state");
    for suffix in ["", "-wal", "-shm", "-signal", "-servers"] {
        let mut path = state.clone().into_os_string();
        path.push(suffix);
        let _ = std::fs::remove_file(path);
    }
    let mut command = cores::command(&ground.server, ground.cores.for_server(workload.placing).as_deref());
    command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "1", "--log", "off"]);
    command.args(["--database", &format!("sqlite:{}", data.display())]);
    command.env("MESH_CACHE__RESPONSES", "0").env("MESH_STATE__PATH", &state);
    if ground.cores.deliver_to_server_cores(workload.placing) {
        command.env("MESH_PIN_THREADS", "true");
    }
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
        let path = format!("/mesh/post/{}", workload.record(number));
        let blanks = if signing == Signing::Plain { number % SPELLINGS } else { 0 };
        let request = Request::get(&path, &format!("{query}{}", " ".repeat(blanks as usize)));
        // All combinations of session and spelling occur.
        let place = (number / SPELLINGS) as usize % SESSIONS;
        match sessions.get(place) {
            Some(session) => session.sign(request, &path, signing),
            None => request,
        }
    };
    measure(ground, peer, workload, &request)
}

/// Returns the microseconds of processor time per request.
fn measure(
    ground: &Ground,
    mut peer: Peer,
    workload: &Workload,
    request: &dyn Fn(u32) -> Request,
) -> Result<f64, String> {
    let file = ground.folder.join("signed.requests");
    let send = |peer: &mut Peer, numbers: std::ops::Range<u32>| {
        let written = std::fs::write(&file, file_of(numbers.map(request)));
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let before = peer.cpu_seconds()?;
        let load = Loader::new(ground, &file, peer.address(), workload.connections).once()?;
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
        let reply = ask(address, &Request::post("/mesh/auth", &body))?;
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
