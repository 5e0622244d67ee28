//! `cargo xtask bench events`: the latency of a change for thousands of streams of one record and of many lists, and the
//! memory of idle streams.

mod lists;

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_tests::{Database, Request, Server, TempDir};

use super::machine::{mebibytes, memory, percentile};
use super::server;

/// Number of streams of the changed record.
const WATCHERS: usize = 5_000;
/// Number of idle streams.
const IDLE_STREAMS: usize = 10_000;
/// Number of changes, for each way of writing.
const ROUNDS: usize = 10;
/// Targets.
const LATENCY_MAX: Duration = Duration::from_millis(500);
const MEMORY_MAX: u64 = 160 << 20;
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

const QUERY: &str = r#"{"post":{"$select":{"title":true}}}"#;
const PATH: &str = "/mesh/post/1";

/// Runs the benchmark. `--no-build` uses the existing server binary.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let program = server(root, arguments)?;
    let fixture = EventFixture::start(&program)?;
    let mut fine = true;
    let mut streams = Streams::default();
    let request = Request::get(&format!("{PATH}/events"), QUERY).bytes();
    streams.open(fixture.server.address, &request, WATCHERS)?;
    println!(
        "{WATCHERS} streams of one record, {ROUNDS} changes each way, milliseconds until a stream has it"
    );
    println!("  {:<22} {:>8} {:>8} {:>8}  readings", "written by", "p50", "p99", "slowest");
    for (by, write) in
        [("another process", EventFixture::write_file as Write), ("the server itself", EventFixture::put)]
    {
        let mut times = Vec::new();
        let before = fixture.count_reads();
        for round in 0..ROUNDS {
            let title = format!("{by}, round {round}.");
            let start = Instant::now();
            write(&fixture, &title)?;
            times.extend(wait_for_all(&mut streams.0, &title, start)?);
            // Wait until all effects of the write are over.
            std::thread::sleep(Duration::from_millis(300));
        }
        times.sort();
        let [middle, late, last] = [50, 99, 100].map(|part| percentile(&times, part));
        println!(
            "  {by:<22} {:>8.1} {:>8.1} {:>8.1}  {}",
            millis(middle),
            millis(late),
            millis(last),
            fixture.count_reads() - before
        );
        fine &= late < LATENCY_MAX;
    }
    streams.open(fixture.server.address, &request, IDLE_STREAMS - WATCHERS)?;
    std::thread::sleep(Duration::from_secs(2));
    let resident = memory(fixture.server.process(), "VmRSS")?;
    fine &= resident < MEMORY_MAX;
    println!("{IDLE_STREAMS} idle streams: {:.1} MiB, at most {} MiB", mebibytes(resident), MEMORY_MAX >> 20);
    let open = fixture.handles();
    drop(streams);
    let start = Instant::now();
    while fixture.handles() + IDLE_STREAMS > open && start.elapsed() < CLOSE_TIMEOUT {
        std::thread::sleep(Duration::from_millis(10));
    }
    let left = (fixture.handles() + IDLE_STREAMS).saturating_sub(open);
    let before = fixture.count_reads();
    fixture.write_file("No client watches this file.")?;
    std::thread::sleep(Duration::from_secs(1));
    let readings = fixture.count_reads() - before;
    println!(
        "after {:?} without clients: {left} connections, {readings} readings for a change",
        start.elapsed()
    );
    fine &= left == 0 && readings == 0;
    drop(fixture);
    fine &= lists::measure(&program)?;
    println!("{}", if fine { "all targets were met" } else { "a target was missed" });
    Ok(fine)
}

type Write = fn(&EventFixture, &str) -> Result<(), String>;

/// The measured server and its data.
struct EventFixture {
    server: Server,
    database: Database,
    log: PathBuf,
}

impl EventFixture {
    fn start(program: &Path) -> Result<Self, String> {
        let database = Database::blog();
        let schema = r#"{"entities": {"post": {"fields": ["id", "title"], "writable": true}}}"#;
        Self::serve(program, database, schema)
    }

    /// Serves a database with this schema, with limits that allow all streams of the benchmark from one address.
    fn serve(program: &Path, database: Database, schema: &str) -> Result<Self, String> {
        let folder: &TempDir = &database.dir;
        let schema = folder.write("schema.json", schema);
        let log = folder.path().join("log");
        let file = File::create(&log).map_err(|error| format!("cannot write a log: {error}"))?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--mutations", "--database", &database.url()]);
        command.args(["--schema", &schema, "--log", "mesh_server::events=debug"]);
        // One address may use three quarters of all connections.
        command.env("MESH_LIMITS__CONNECTIONS", ((IDLE_STREAMS + 100) * 4 / 3).to_string());
        for limit in ["CONNECTIONS_PER_ADDRESS", "STREAMS_PER_ADDRESS"] {
            command.env(format!("MESH_LIMITS__{limit}"), (IDLE_STREAMS + 100).to_string());
        }
        command.stdin(Stdio::null()).stderr(file);
        let server = Server::try_spawn(&mut command, Some(Arc::clone(&database.dir)))?;
        Ok(Self { server, database, log })
    }

    /// Changes the database from this process.
    fn execute(&self, statement: &str) -> Result<(), String> {
        self.database.connect().execute_batch(statement).map_err(|error| error.to_string())
    }

    /// Changes the record from this process, which the server sees as another process.
    fn write_file(&self, title: &str) -> Result<(), String> {
        self.execute(&format!("UPDATE posts SET title = '{title}' WHERE id = 1"))
    }

    /// Changes the record through the server.
    fn put(&self, title: &str) -> Result<(), String> {
        let body = format!("{{\"title\":\"{title}\"}}");
        let put = Request::new("PUT", PATH).header("Content-Type", "application/json").body(body);
        let reply = self.server.send(&put);
        if reply.status == 200 { Ok(()) } else { Err(format!("the write failed: {}", reply.text())) }
    }

    /// Returns how many times the server has read for streams.
    fn count_reads(&self) -> usize {
        fs::read_to_string(&self.log).unwrap_or_default().matches("events: read").count()
    }

    fn handles(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.server.process())).map_or(0, Iterator::count)
    }
}

/// Open streams.
#[derive(Default)]
struct Streams(Vec<TcpStream>);

impl Streams {
    /// Opens streams and waits for the first event of each.
    fn open(&mut self, address: SocketAddr, request: &[u8], count: usize) -> Result<(), String> {
        for _ in 0..count {
            let stream = open_stream(address, request);
            self.0.push(stream.map_err(|error| {
                format!(
                    "stream {} does not start: {error}; is `ulimit -n` above {IDLE_STREAMS}?",
                    self.0.len()
                )
            })?);
        }
        Ok(())
    }
}

/// Waits until every stream has received an event with the text, and returns when each received it.
fn wait_for_all<'s>(
    streams: impl IntoIterator<Item = &'s mut TcpStream>,
    text: &str,
    start: Instant,
) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    let mut waiting: Vec<(&mut TcpStream, Vec<u8>)> =
        streams.into_iter().map(|stream| (stream, Vec::new())).collect();
    let mut bytes = [0; 4096];
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut failed = None;
        waiting.retain_mut(|(stream, seen)| match stream.read(&mut bytes) {
            Ok(0) => {
                failed = Some("a stream ended".to_owned());
                true
            }
            Ok(length) => {
                seen.extend_from_slice(bytes.get(..length).unwrap_or_default());
                let has_it = String::from_utf8_lossy(seen).contains(text);
                if has_it {
                    times.push(start.elapsed());
                }
                !has_it
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => true,
            Err(error) => {
                failed = Some(error.to_string());
                true
            }
        });
        if let Some(why) = failed {
            return Err(why);
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(format!("{} streams did not receive '{text}'", waiting.len()));
        }
        if waiting.len() == before {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(times)
}

fn open_stream(address: SocketAddr, request: &[u8]) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(request)?;
    let mut seen = Vec::new();
    let mut bytes = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("data:") {
        let length = stream.read(&mut bytes)?;
        if length == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        seen.extend_from_slice(bytes.get(..length).unwrap_or_default());
    }
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
