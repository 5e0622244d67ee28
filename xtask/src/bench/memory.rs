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
use super::trend::Memory;
use super::workload::Workload;
use super::{Setup, server, sqlite};

/// Number of memory samples.
const SAMPLES: u32 = 10;
/// Number of pages read to obtain cursors.
const PAGES: u32 = 500;
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

/// Sends requests and samples the memory after each `requests` of them.
pub(crate) fn measure(
    setup: &Setup,
    data: &Path,
    workload: &Workload,
    requests: u32,
) -> Result<Memory, String> {
    let peer = sqlite::start(setup, data, Kind::Mesh, workload)?;
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
}
