//! `cargo xtask bench overload`: goodput of an overloaded server, memory with ten thousand connections, and the time to
//! stop.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mesh_tests::{Connection, Database, Request, Server};

use super::machine::{mebibytes, memory, percentile};

/// Duration of each measurement.
const DURATION: Duration = Duration::from_secs(6);
/// Replies after this time do not count.
const DEADLINE: Duration = Duration::from_secs(2);
/// Maximum number of concurrent clients.
const CLIENTS: u32 = 400;
/// Offered load, as multiples of the capacity.
const LOAD_FACTORS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];
/// Number of connections for the memory measurement.
const CONNECTIONS: usize = 10_000;
/// Targets: minimum goodput at four times the capacity, and maximum growth of memory from one to eight times.
const GOODPUT_RATIO_MIN: f64 = 0.8;
const MEMORY_GROWTH_MAX: u64 = 32 << 20;
/// Target: maximum time to stop. A server that fails to notify its idle connections waits for a timeout, which takes longer.
const STOP_MAX: Duration = Duration::from_secs(2);

/// A read that takes about ten milliseconds of processor time.
const WORK: &str = "CREATE VIEW work AS WITH RECURSIVE c(i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000) SELECT sum(i) AS total FROM c;";

/// Runs the benchmark. `--no-build` uses the existing server binary.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let program = super::server(root, arguments)?;
    let server = start(&program)?;
    std::thread::sleep(Duration::from_millis(500));
    println!("idle: {:.1} MiB", mebibytes(resident(&server)?));
    let fine = measure_goodput(&server)? & connections(&start(&program)?)?;
    println!("{}", if fine { "all targets were met" } else { "a target was missed" });
    Ok(fine)
}

fn start(program: &Path) -> Result<Server, String> {
    let database = Database::blog();
    database.connect().execute_batch(WORK).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "off", "--database", &database.url()]);
    // Cached responses would cost no work.
    command.env("MESH_CACHE__RESPONSES", "0").env("MESH_REQUEST_TIMEOUT", format!("{}s", DEADLINE.as_secs()));
    // One address may use three quarters of all connections.
    command.env("MESH_LIMITS__CONNECTIONS", ((CONNECTIONS + 100) * 4 / 3).to_string());
    command.env("MESH_LIMITS__CONNECTIONS_PER_ADDRESS", (CONNECTIONS + 100).to_string());
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    Server::try_spawn(&mut command, Some(Arc::clone(&database.dir)))
}

/// Measures goodput for each offered load.
fn measure_goodput(server: &Server) -> Result<bool, String> {
    let request = Request::get("/mesh/work", "{ work total }").header("X-Mesh-Format", "ql").bytes();
    let alone = run_closed_loop(server, &request, 8)?;
    println!(
        "capacity: {alone:.0} answers a second to 8 clients that wait for each; offered at a fixed rate:"
    );
    println!(
        "  {:>8} {:>10} {:>10} {:>9} {:>9} {:>12} {:>12} {:>9}",
        "times", "offered/s", "in time/s", "refused/s", "failed/s", "p99 answer", "p99 refusal", "memory"
    );
    let mut seen = Vec::new();
    for times in LOAD_FACTORS {
        let outcome = run_open_loop(server, &request, alone * times);
        let memory = resident(server)?;
        let per_second = |count: usize| count as f64 / DURATION.as_secs_f64();
        let goodput = per_second(outcome.good.len());
        println!(
            "  {times:>8.1} {:>10.0} {goodput:>10.1} {:>9.1} {:>9.1} {:>9.0} ms {:>9.0} ms {:>5.1} MiB",
            alone * times,
            per_second(outcome.refused.len()),
            per_second(outcome.failed),
            p99(&outcome.good).as_secs_f64() * 1e3,
            p99(&outcome.refused).as_secs_f64() * 1e3,
            mebibytes(memory),
        );
        seen.push((times, goodput, memory));
    }
    let peak = seen.iter().map(|(_, goodput, _)| *goodput).fold(0.0, f64::max);
    let at = |wanted: f64| seen.iter().find(|(times, ..)| *times >= wanted).copied().unwrap_or_default();
    let kept = at(4.0).1 / peak.max(f64::MIN_POSITIVE);
    let growth = at(8.0).2.saturating_sub(at(1.0).2);
    println!(
        "at four times the capacity: {:.0} % of the peak, at least {:.0} %; {:.1} MiB more than at one, at most {} MiB",
        kept * 100.0,
        GOODPUT_RATIO_MIN * 100.0,
        mebibytes(growth),
        MEMORY_GROWTH_MAX >> 20
    );
    Ok(kept >= GOODPUT_RATIO_MIN && growth <= MEMORY_GROWTH_MAX)
}

/// Returns the replies per second to clients that wait for each reply.
fn run_closed_loop(server: &Server, request: &[u8], clients: u32) -> Result<f64, String> {
    let answered = AtomicU32::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut connection = server.connect();
                while start.elapsed() < DURATION {
                    connection.write(request);
                    if connection.read(false).is_some_and(|reply| reply.status == 200) {
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    match answered.into_inner() {
        0 => Err("the server does not reply".to_owned()),
        answered => Ok(f64::from(answered) / start.elapsed().as_secs_f64()),
    }
}

/// Outcomes of offered requests, with their durations.
#[derive(Default)]
struct Outcome {
    good: Vec<Duration>,
    refused: Vec<Duration>,
    failed: usize,
}

/// Sends requests at a fixed rate, independent of replies. Durations count from the scheduled time.
fn run_open_loop(server: &Server, request: &[u8], rate: f64) -> Outcome {
    let next = AtomicU32::new(0);
    let start = Instant::now();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut outcome = Outcome::default();
                    let mut connection = server.connect();
                    loop {
                        let due =
                            Duration::from_secs_f64(f64::from(next.fetch_add(1, Ordering::Relaxed)) / rate);
                        if due >= DURATION {
                            return outcome;
                        }
                        std::thread::sleep(due.saturating_sub(start.elapsed()));
                        connection.write(request);
                        let reply = connection.read(false);
                        let took = start.elapsed().saturating_sub(due);
                        match reply.map(|reply| reply.status) {
                            Some(200) if took <= DEADLINE => outcome.good.push(took),
                            Some(503) => outcome.refused.push(took),
                            Some(_) => outcome.failed += 1,
                            None => {
                                outcome.failed += 1;
                                connection = server.connect();
                            }
                        }
                    }
                })
            })
            .collect();
        clients.into_iter().filter_map(|client| client.join().ok()).collect()
    });
    let mut all = Outcome::default();
    for outcome in outcomes {
        all.good.extend(outcome.good);
        all.refused.extend(outcome.refused);
        all.failed += outcome.failed;
    }
    all
}

/// Measures memory with many connections, and the time to stop.
fn connections(server: &Server) -> Result<bool, String> {
    let before = resident(server)?;
    let request = Request::get("/mesh/post/1", "{ post id }").header("X-Mesh-Format", "ql").bytes();
    let mut open = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let stream = TcpStream::connect(server.address)
            .map_err(|error| format!("connection {}: {error}; `ulimit -n` may be too low", open.len()))?;
        let mut connection = Connection::from_stream(stream);
        connection.write(&request);
        if connection.read(false).is_none_or(|reply| reply.status != 200) {
            return Err("a connection is not served".to_owned());
        }
        open.push(connection);
    }
    let served = resident(server)?;
    println!(
        "{CONNECTIONS} idle connections: {:.1} MiB, {:.1} KiB each",
        mebibytes(served),
        served.saturating_sub(before) as f64 / CONNECTIONS as f64 / 1024.0
    );
    let start = Instant::now();
    server.signal("TERM");
    while Path::new(&format!("/proc/{}/exe", server.process())).exists() && start.elapsed() < DEADLINE * 10 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let took = start.elapsed();
    println!(
        "stopped after {:.0} ms with all of them open, at most {:.0}",
        took.as_secs_f64() * 1e3,
        STOP_MAX.as_secs_f64() * 1e3
    );
    Ok(took <= STOP_MAX)
}

/// Returns the 99th percentile.
fn p99(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    percentile(&times, 99)
}

fn resident(server: &Server) -> Result<u64, String> {
    memory(server.process(), "VmRSS")
}
