//! `cargo xtask bench postgres`: the server over PostgreSQL compared with hand-written servers over tokio-postgres, and
//! with several servers and replicas.
//!
//! In the comparison, server and database share one core, and the load has another. The figures show the cost of the
//! software and not the capacity of a separate database machine.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use mesh_tests::Cluster;

use super::load::Loader;
use super::machine::cores::{self, Cores};
use super::options::Options;
use super::peer::{Peer, alternatives};
use super::report::{Report, median};
use super::request::Kind;
use super::workload::list::parse_list;
use super::workload::read::{Engine, Read};
use super::workload::{Target, Workload};
use super::{Setup, Source, compare, prepare};

/// Number of clients. Each waits for the reply to its last request.
const CONNECTIONS: usize = 32;
/// Number of clients of the workload that shows whether more clients cost more.
const MANY_CONNECTIONS: usize = 200;
const TARGETS: &[Target] = &[Target::Speed(Kind::Limit, 0.85), Target::Tail(Kind::Limit, 1.5)];

/// The sample, with the size and structure of the SQLite sample.
const SAMPLE: &str = include_str!("../../bench/postgres.sql");

/// Runs the benchmark. It takes the options of the other workloads; `--scale` measures several servers and replicas instead.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let scale = arguments.contains(&"--scale");
    let rest: Vec<&str> = arguments.iter().copied().filter(|argument| *argument != "--scale").collect();
    let mut options = Options::parse(&rest)?;
    let setup = prepare(root, &options)?;
    if scale {
        let setup = Setup { cores: Cores::UNPINNED, ..setup };
        println!("{}", scaled(&setup, &sample(&Cores::UNPINNED)?, &options)?);
        return Ok(true);
    }
    let cluster = sample(&setup.cores)?;
    let clients = |workload: &Workload, connections: usize, name: String| Workload {
        name: name.into(),
        connections,
        peers: &[Kind::Limit, Kind::Mesh],
        targets: TARGETS,
        ..workload.clone()
    };
    let crowded = |workload: &Workload| {
        let name = format!("{} x{MANY_CONNECTIONS}", workload.name);
        (workload.read == Read::Scalars).then(|| clients(workload, MANY_CONNECTIONS, name))
    };
    let all = options.workloads.iter().flat_map(|workload| {
        [Some(clients(workload, CONNECTIONS, workload.name.to_string())), crowded(workload)]
    });
    options.workloads = all.flatten().collect();
    let mut report = Report::new(&setup, Engine::Postgres);
    compare(&setup, &Source::Postgres(&cluster), &options, &mut report)?;
    Ok(report.print(&options))
}

/// Starts a cluster with the sample, on the core of the servers.
pub(crate) fn sample(cores: &Cores) -> Result<Cluster, String> {
    cores.on_core_of_server(|| {
        let cluster =
            Cluster::start_with(&["shared_buffers = 512MB"]).ok_or("PostgreSQL is needed for this")?;
        eprintln!("creating the sample");
        cluster.execute(SAMPLE);
        Ok(cluster)
    })
}

/// Starts a server over a cluster.
pub(crate) fn start(setup: &Setup, url: &str, kind: Kind, workload: &Workload) -> Result<Peer, String> {
    let core_list = setup.cores.for_server(workload.placement);
    if kind == Kind::Mesh {
        return Peer::spawn(Peer::mesh(setup, workload, core_list.as_deref()).args(["--database", url]));
    }
    if kind == Kind::PostGraphile {
        return alternatives::postgraphile(setup, url, core_list.as_deref());
    }
    let mut command = cores::command(&setup.peers.join("pg_limit"), core_list.as_deref());
    command.args(["--database", url, "--workload", &workload.read.peer(), "--variant", kind.name()]);
    // The fastest numbers with 32 clients on one core: more connections send smaller messages, and fewer wait for the database.
    command.args(["--connections", if workload.read == Read::Deep { "4" } else { "2" }]);
    Peer::spawn(&mut command)
}

/// Measures nested reads with one and two servers and up to two replicas.
fn scaled(setup: &Setup, primary: &Cluster, options: &Options) -> Result<String, String> {
    let workload = parse_list("w2")?.pop().ok_or("there is no workload 'w2'")?;
    let replicas = [primary.replica(), primary.replica()];
    let mut table = String::from("| servers | replicas | w2 req/s |\n|---|---|---|\n");
    for servers in 1..=2 {
        for count in 0..=replicas.len() {
            let used: Vec<&Cluster> = replicas.iter().take(count).collect();
            let mut runs = Vec::new();
            for _ in 0..options.rounds {
                let started: Result<Vec<_>, _> = (0..servers).map(|_| mesh(setup, primary, &used)).collect();
                runs.push(load(setup, &workload, &started?, Kind::Mesh, options.seconds)?);
            }
            let _ = writeln!(table, "| {servers} | {count} | {:.0} |", median(runs));
        }
    }
    Ok(table)
}

/// Returns the requests per second of all servers together. Each has its own load generator.
fn load(
    setup: &Setup,
    workload: &Workload,
    servers: &[Peer],
    kind: Kind,
    seconds: f64,
) -> Result<f64, String> {
    let file = setup.requests(workload, kind)?;
    let one = |server: &Peer, seconds: f64| {
        let loader = Loader::new(setup, &file, server.address(), workload.connections);
        let seen = loader.run(seconds)?;
        if seen.errors > 0 {
            return Err(format!("{} of {} requests failed", seen.errors, seen.requests));
        }
        Ok(seen.per_second)
    };
    std::thread::scope(|scope| {
        // Warm up: prepare statements, fill caches, find replicas.
        let running: Vec<_> = servers
            .iter()
            .map(|server| scope.spawn(move || one(server, 1.0).and_then(|_| one(server, seconds))))
            .collect();
        let seen =
            running.into_iter().map(|it| it.join().unwrap_or_else(|_| Err("the load failed".to_owned())));
        seen.sum()
    })
}

fn mesh(setup: &Setup, primary: &Cluster, replicas: &[&Cluster]) -> Result<Peer, String> {
    let mut command = Command::new(&setup.server);
    command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "1", "--log", "off"]);
    let replicas: Vec<_> = replicas.iter().map(|replica| replica.url()).collect();
    command.args(["--database", &primary.url()]).env("MESH_REPLICAS", replicas.join(","));
    Peer::spawn(&mut command)
}
