//! Memory of the server: after many distinct requests (ids, queries, cursors) in a session with all caches enabled, and per
//! idle connection, event stream and cached plan.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mesh_tests::{Database, Request, Server};
use serde_json::Value;

use super::load::Loader;
use super::machine::{mebibytes, memory};
use super::peer::Peer;
use super::request::{Kind, fetch_json, file_of};
use super::workload::Workload;
use super::{Setup, server};

/// Number of memory samples.
const SAMPLES: u32 = 10;
/// Number of pages read to obtain cursors.
const PAGES: u32 = 500;
/// Maximum growth in bytes per request. Any retained allocation is larger.
const MAX_SLOPE: f64 = 8.0;
/// Number of connections and of streams.
const CLIENTS: usize = 10_000;
/// Number of plans, less than the capacity of the cache.
const PLANS: usize = 1_000;
/// Time after which the server has released the memory that idle connections do not need.
const SETTLE_TIME: Duration = Duration::from_secs(4);
/// Targets: the memory of the process with `CLIENTS` connections, and with `CLIENTS` streams.
const MAX_CONNECTIONS: u64 = 150 << 20;
const MAX_STREAMS: u64 = 160 << 20;

/// Runs `cargo xtask bench memory`. `--no-build` uses the existing server binary.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let program = server(root, arguments)?;
    let path = "/mesh/post/1";
    let query = r#"{"post":{"$select":{"title":true}}}"#;
    let read = Request::get(path, query).bytes();
    let stream = Request::get(&format!("{path}/events"), query).bytes();
    let mut fine = true;
    for (what, request, end, most) in
        [("idle connections", read, "}", MAX_CONNECTIONS), ("event streams", stream, "data:", MAX_STREAMS)]
    {
        let (server, _database) = start(&program)?;
        let before = resident(&server)?;
        let clients: Result<Vec<_>, _> = (0..CLIENTS).map(|_| open(&server, &request, end)).collect();
        let clients = clients.map_err(|error| format!("{error}; is `ulimit -n` above {CLIENTS}?"))?;
        std::thread::sleep(SETTLE_TIME);
        let after = resident(&server)?;
        let each = after.saturating_sub(before) / clients.len().max(1) as u64;
        println!(
            "{CLIENTS} {what}: {:.1} MiB, {each} bytes each; at most {} MiB",
            mebibytes(after),
            most >> 20
        );
        fine &= after < most;
    }
    let (server, _database) = start(&program)?;
    plans(&server, 0)?;
    let before = resident(&server)?;
    plans(&server, 1)?;
    let each = resident(&server)?.saturating_sub(before) / PLANS as u64;
    println!("{PLANS} cached plans: {each} bytes each, with their statements");
    println!("{}", if fine { "all targets were met" } else { "a target was missed" });
    Ok(fine)
}

/// Starts a server with limits that allow `CLIENTS` connections and streams from one address.
fn start(program: &Path) -> Result<(Server, Database), String> {
    let database = Database::blog();
    let mut command = Command::new(program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "off", "--database", &database.url()]);
    // One address may use three quarters of all connections.
    command.env("MESH_LIMITS__CONNECTIONS", ((CLIENTS + 100) * 4 / 3).to_string());
    for limit in ["CONNECTIONS_PER_ADDRESS", "STREAMS_PER_ADDRESS"] {
        command.env(format!("MESH_LIMITS__{limit}"), (CLIENTS + 100).to_string());
    }
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let server = Server::try_spawn(&mut command, Some(Arc::clone(&database.dir)))?;
    Ok((server, database))
}

/// Opens a connection, sends a request, and reads until the reply contains `end`.
fn open(server: &Server, request: &[u8], end: &str) -> Result<TcpStream, String> {
    let mut stream = TcpStream::connect(server.address).map_err(|error| error.to_string())?;
    stream.write_all(request).map_err(|error| error.to_string())?;
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&seen).contains(end) {
        match stream.read(&mut bytes) {
            Ok(0) => return Err(format!("unexpected reply: {}", String::from_utf8_lossy(&seen))),
            Ok(length) => seen.extend_from_slice(bytes.get(..length).unwrap_or_default()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(stream)
}

/// Sends distinct queries of one form, over one connection.
fn plans(server: &Server, round: usize) -> Result<(), String> {
    let mut connection = server.connect();
    for number in 0..PLANS {
        let value = round * PLANS + number;
        let query = format!(
            r#"{{"post":{{"$select":{{"id":true,"title":true}},"$where":{{"field":"id","op":"gte","value":{value}}},"$page":{{"first":2}}}}}}"#
        );
        let reply = connection.send(&Request::get("/mesh/post", &query));
        if reply.status != 200 {
            return Err(format!("unexpected reply: {}", reply.text()));
        }
    }
    Ok(())
}

fn resident(server: &Server) -> Result<u64, String> {
    memory(server.process(), "VmRSS")
}

/// Memory after increasing numbers of requests.
pub(crate) struct Memory {
    /// Number of requests, and resident bytes.
    pub(crate) samples: Vec<(u32, u64)>,
}

impl Memory {
    /// Returns bytes per request: the slope of the regression line.
    pub(crate) fn slope(&self) -> f64 {
        let count = self.samples.len().max(1) as f64;
        let points = self.samples.iter().map(|(requests, bytes)| (f64::from(*requests), *bytes as f64));
        let (x, y) = points.clone().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        let (x, y) = (x / count, y / count);
        let over: f64 = points.clone().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let under: f64 = points.map(|point| (point.0 - x).powi(2)).sum();
        if under > 0.0 { over / under } else { 0.0 }
    }

    /// Returns the result as text and whether memory is independent of the number of requests.
    pub(crate) fn target(&self) -> (String, bool) {
        let requests = self.samples.last().map_or(0, |(requests, _)| *requests);
        let size = |sample: Option<&(u32, u64)>| sample.map_or(0.0, |(_, bytes)| mebibytes(*bytes));
        let (first, last) = (size(self.samples.first()), size(self.samples.last()));
        let slope = self.slope();
        let text = format!(
            "memory: {first:.1} MiB after {} requests, {last:.1} MiB after {requests}, {slope:.2} bytes per request, \
             at most {MAX_SLOPE}",
            requests / SAMPLES
        );
        (text, slope <= MAX_SLOPE)
    }
}

/// Sends requests and samples the memory after each `requests` of them.
pub(crate) fn measure(
    setup: &Setup,
    data: &Path,
    workload: &Workload,
    requests: u32,
) -> Result<Memory, String> {
    let peer = Peer::start(setup, data, Kind::Mesh, workload)?;
    let mut workload = workload.clone();
    workload.prepare(peer.address())?;
    let cursors = cursors(&workload, &peer)?;
    let mut memory = Memory { samples: Vec::new() };
    let file = setup.folder.join("memory.requests");
    for sample in 0..SAMPLES {
        let numbers = sample * requests..(sample + 1) * requests;
        let bytes = file_of(numbers.map(|number| request(&workload, &cursors, number)));
        std::fs::write(&file, bytes).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let seen = Loader::new(setup, &file, peer.address(), workload.connections).send_each_once()?;
        if seen.errors > 0 {
            return Err(format!("{} of {requests} requests failed", seen.errors));
        }
        let bytes = peer.resident()?;
        let served = (sample + 1) * requests;
        eprintln!("  {served:>8} requests: {:.1} MiB", mebibytes(bytes));
        memory.samples.push((served, bytes));
    }
    let _ = std::fs::remove_file(&file);
    Ok(memory)
}

/// Returns the end cursors of many pages.
fn cursors(workload: &Workload, peer: &Peer) -> Result<Vec<String>, String> {
    let mut cursors: Vec<String> = Vec::new();
    for _ in 0..PAGES {
        let query = page(0, cursors.last());
        let answer = fetch_json(peer.address(), &workload.signed("/mesh/post", &query))?;
        let end = answer.get("pageInfo").and_then(|info| info.get("endCursor")).and_then(Value::as_str);
        cursors.push(end.ok_or_else(|| format!("a page without an end cursor: {answer}"))?.to_owned());
    }
    Ok(cursors)
}

/// Returns a request that differs from all others, in turn by id, by query and by cursor.
fn request(workload: &Workload, cursors: &[String], number: u32) -> Request {
    let turn = number / 4;
    let point = || format!("/mesh/post/{}", workload.record(number));
    match number % 4 {
        0 => workload.signed(&point(), r#"{"post":{"$select":{"id":true,"title":true,"body":true}}}"#),
        1 => workload.signed(
            &point(),
            r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true}},"comments":{"$select":{"body":true}}}}}"#,
        ),
        2 => {
            let query = format!(
                r#"{{"post":{{"$select":{{"id":true,"title":true,"author":{{"$select":{{"name":true}}}}}},"$where":{{"field":"id","op":"gte","value":{turn}}},"$page":{{"first":3}}}}}}"#
            );
            workload.signed("/mesh/post", &query)
        }
        _ => {
            // After all cursors have been used, the page size and fields vary.
            let count = cursors.len().max(1);
            let (round, place) = (turn as usize / count, turn as usize % count);
            workload.signed("/mesh/post", &page(round, cursors.get(place)))
        }
    }
}

/// Returns a query for the page after a cursor. `variant` varies the page size and the fields.
fn page(variant: usize, after: Option<&String>) -> String {
    let after = after.map(|after| format!(r#","after":"{after}""#)).unwrap_or_default();
    let chosen = OPTIONAL.iter().enumerate().filter(|(place, _)| (variant / 20) >> place & 1 == 1);
    let fields: String = chosen.map(|(_, name)| format!(r#""{name}":true,"#)).collect();
    let first = 20 - variant % 20;
    format!(
        r#"{{"post":{{"$select":{{{fields}"id":true}},"$orderBy":[{{"field":"views","direction":"asc"}}],"$page":{{"first":{first}{after}}}}}}}"#
    )
}

const OPTIONAL: [&str; 5] = ["title", "views", "published", "publishedAt", "body"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::workload::list::parse_list;

    #[test]
    fn requests_are_distinct() {
        let [workload] = &parse_list("memory").unwrap()[..] else { panic!() };
        let cursors: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        // Ids repeat after all have been used.
        let mut texts: Vec<_> =
            (0..4_000).map(|number| request(workload, &cursors, number).bytes()).collect();
        texts.sort();
        texts.dedup();
        assert!(texts.len() > 3_900, "{}", texts.len());
    }

    #[test]
    fn slope_is_that_of_the_regression_line() {
        let slope =
            |bytes: [u64; 3]| Memory { samples: [100, 200, 300].into_iter().zip(bytes).collect() }.slope();
        assert_eq!([slope([5_000; 3]), slope([0, 800, 1_600]), slope([1_000, 0, 1_000])], [0.0, 8.0, 0.0]);
        assert!(
            Memory { samples: vec![(100, 1_000), (200, 2_000)] }
                .target()
                .0
                .contains("10.00 bytes per request")
        );
    }
}
